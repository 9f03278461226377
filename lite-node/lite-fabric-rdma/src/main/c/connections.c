/* The connection manager: event channels, identifiers, and the queue pair of an identifier. */
#include "natives.h"

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <string.h>

/* Both retry counts have three bits. 7 receiver-not-ready retries mean "retry forever". */
#define RETRIES_MAX 7

/* Maximum length of private data for a reliable connection over IP, in bytes. */
#define PRIVATE_DATA_MAX 56

/* DiSNI does not specify the number of scatter entries per request: use four, or fewer if the device supports fewer. */
#define PIECES_MAX 4

#define ID "a connection identifier"
#define CHANNEL "an event channel"

/* DiSNI uses the number of an event as an index into its own list of names. */
_Static_assert(RDMA_CM_EVENT_ADDR_RESOLVED == 0, "first event");
_Static_assert(RDMA_CM_EVENT_CONNECT_REQUEST == 4, "request");
_Static_assert(RDMA_CM_EVENT_ESTABLISHED == 9, "established");
_Static_assert(RDMA_CM_EVENT_DISCONNECTED == 10, "disconnected");
_Static_assert(RDMA_CM_EVENT_TIMEWAIT_EXIT == 15, "last event");
_Static_assert(offsetof(struct rdma_event_channel, fd) == 0, "the driver reads the descriptor");

NATIVE(jlong, createEventChannel)(JNIEnv *env, jobject self)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int error;

	(void)self;
	if (channel == NULL)
		return throw_errno(env, errno, "rdma_create_event_channel");
	/* Non-blocking, because another thread may take the event after a thread's wait with a deadline has ended. */
	error = make_nonblocking(channel->fd);
	if (error != 0) {
		rdma_destroy_event_channel(channel);
		return throw_errno(env, error, "cannot make an event channel non-blocking");
	}
	return to_handle(channel);
}

NATIVE(jint, destroyEventChannel)(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_event_channel *channel = from_handle(handle);

	(void)env;
	(void)self;
	if (channel == NULL)
		return -EINVAL;
	rdma_destroy_event_channel(channel);
	return 0;
}

NATIVE(jlong, createId)(JNIEnv *env, jobject self, jlong channel_handle, jshort port_space)
{
	struct rdma_event_channel *channel = require(env, channel_handle, CHANNEL);
	struct rdma_cm_id *id;

	(void)self;
	if (channel == NULL)
		return -1;
	if (rdma_create_id(channel, &id, NULL, (enum rdma_port_space)port_space) != 0)
		return throw_errno(env, errno, "rdma_create_id in port space 0x%x", (unsigned)port_space);
	return to_handle(id);
}

NATIVE(jint, destroyQP)(JNIEnv *env, jobject self, jlong id_handle)
{
	struct rdma_cm_id *id = from_handle(id_handle);

	(void)env;
	(void)self;
	if (id == NULL || id->qp == NULL)
		return -EINVAL;
	rdma_destroy_qp(id);
	return 0;
}

NATIVE(jint, destroyCmId)(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = from_handle(handle);

	(void)env;
	(void)self;
	if (id == NULL)
		return -EINVAL;
	/* Without its identifier, nobody could destroy the queue pair. */
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	/* rdma_destroy_id waits for taken events that are not acknowledged. There are none: getCmEvent acknowledges at once. */
	return negative_errno(rdma_destroy_id(id));
}

NATIVE(jint, destroyEp)(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = from_handle(handle);

	(void)env;
	(void)self;
	if (id == NULL)
		return -EINVAL;
	rdma_destroy_ep(id);
	return 0;
}

/* Copies the address that Java wrote; it may be unaligned. Throws and returns false if it is not an IPv4 address. */
static bool read_address(JNIEnv *env, jlong source, struct sockaddr_in *address)
{
	if (source == 0) {
		throw_text(env, "no socket address was given");
		return false;
	}
	memcpy(address, (const void *)(uintptr_t)source, sizeof(*address));
	if (address->sin_family != AF_INET) {
		throw_text(env, "a socket address of family %d; only IPv4 (%d) is supported", address->sin_family, AF_INET);
		return false;
	}
	memset(address->sin_zero, 0, sizeof(address->sin_zero));
	return true;
}

NATIVE(void, bindAddr)(JNIEnv *env, jobject self, jlong handle, jlong source)
{
	struct rdma_cm_id *id = require(env, handle, ID);
	struct sockaddr_in address;

	(void)self;
	if (id == NULL || !read_address(env, source, &address))
		return;
	if (rdma_bind_addr(id, (struct sockaddr *)&address) != 0)
		throw_errno(env, errno, "rdma_bind_addr to port %u", (unsigned)ntohs(address.sin_port));
}

NATIVE(void, listen)(JNIEnv *env, jobject self, jlong handle, jint backlog)
{
	struct rdma_cm_id *id = require(env, handle, ID);

	(void)self;
	if (id == NULL)
		return;
	if (backlog < 0)
		throw_text(env, "a backlog of %d: it must be at least 0", backlog);
	else if (rdma_listen(id, backlog) != 0)
		throw_errno(env, errno, "rdma_listen with a backlog of %d", backlog);
}

NATIVE(void, resolveAddr)(JNIEnv *env, jobject self, jlong handle, jlong from, jlong to, jint timeout)
{
	struct rdma_cm_id *id = require(env, handle, ID);
	struct sockaddr_in source;
	struct sockaddr_in destination;

	(void)self;
	if (id == NULL || !read_address(env, to, &destination) || (from != 0 && !read_address(env, from, &source)))
		return;
	if (timeout < 0)
		throw_text(env, "a timeout of %d ms: it must be at least 0", timeout);
	else if (rdma_resolve_addr(id, from == 0 ? NULL : (struct sockaddr *)&source, (struct sockaddr *)&destination,
				   timeout) != 0)
		throw_errno(env, errno, "rdma_resolve_addr");
}

NATIVE(void, resolveRoute)(JNIEnv *env, jobject self, jlong handle, jint timeout)
{
	struct rdma_cm_id *id = require(env, handle, ID);

	(void)self;
	if (id == NULL)
		return;
	if (timeout < 0)
		throw_text(env, "a timeout of %d ms: it must be at least 0", timeout);
	else if (rdma_resolve_route(id, timeout) != 0)
		throw_errno(env, errno, "rdma_resolve_route");
}

/* Queries the device's limit of scatter entries per request, at most PIECES_MAX. Returns 0 or an errno. */
static int pieces(struct ibv_context *context, uint32_t *count)
{
	struct ibv_device_attr device;
	int error = ibv_query_device(context, &device);

	if (error != 0)
		return error;
	if (device.max_sge < 1)
		return ENODEV;
	*count = device.max_sge < PIECES_MAX ? (uint32_t)device.max_sge : PIECES_MAX;
	return 0;
}

NATIVE(jlong, createQP)
(JNIEnv *env, jobject self, jlong id_handle, jlong pd_handle, jlong send_handle, jlong receive_handle, jint type,
 jint sends, jint receives, jint inline_bytes)
{
	struct rdma_cm_id *id = require(env, id_handle, ID);
	struct ibv_pd *pd = id == NULL ? NULL : require(env, pd_handle, "a protection domain");
	struct ibv_cq *send_cq = pd == NULL ? NULL : require(env, send_handle, "a completion queue");
	struct ibv_cq *receive_cq = send_cq == NULL ? NULL : require(env, receive_handle, "a completion queue");
	struct ibv_qp_init_attr wish = { .send_cq = send_cq, .recv_cq = receive_cq, .qp_type = (enum ibv_qp_type)type };
	int error;

	(void)self;
	if (receive_cq == NULL)
		return -1;
	if (id->verbs == NULL)
		return throw_text(env, "the identifier is not bound to a device: resolve or bind its address first");
	if (sends < 0 || receives < 0 || inline_bytes < 0)
		return throw_text(env, "a queue pair of %d sends, %d receives and %d inline bytes: none may be negative", sends,
				  receives, inline_bytes);
	error = pieces(id->verbs, &wish.cap.max_send_sge);
	if (error != 0)
		return throw_errno(env, error, "ibv_query_device");
	wish.cap.max_recv_sge = wish.cap.max_send_sge;
	wish.cap.max_send_wr = (uint32_t)sends;
	wish.cap.max_recv_wr = (uint32_t)receives;
	wish.cap.max_inline_data = (uint32_t)inline_bytes;
	if (rdma_create_qp(id, pd, &wish) != 0)
		return throw_errno(env, errno, "rdma_create_qp of type %d with %d sends, %d receives and %d inline bytes", type,
				   sends, receives, inline_bytes);
	return to_handle(id->qp);
}

/* Fills in the connection parameters, which are the same for both sides. Throws and returns false if a retry count is out of range. */
static bool parameters(JNIEnv *env, jint retries, jint receiver_retries, struct rdma_conn_param *wish)
{
	if (retries < 0 || retries > RETRIES_MAX || receiver_retries < 0 || receiver_retries > RETRIES_MAX) {
		throw_text(env, "%d retries and %d when the receiver is not ready: both must be 0 to %d", retries,
			   receiver_retries, RETRIES_MAX);
		return false;
	}
	*wish = (struct rdma_conn_param){
		/* Allow as many concurrent reads as both devices support. */
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.flow_control = 1,
		.retry_count = (uint8_t)retries,
		.rnr_retry_count = (uint8_t)receiver_retries,
	};
	return true;
}

NATIVE(void, connect)
(JNIEnv *env, jobject self, jlong handle, jint retries, jint receiver_retries, jlong data, jbyte data_length)
{
	struct rdma_cm_id *id = require(env, handle, ID);
	struct rdma_conn_param wish;

	(void)self;
	if (id == NULL || !parameters(env, retries, receiver_retries, &wish))
		return;
	if (data_length < 0 || data_length > PRIVATE_DATA_MAX || (data_length > 0 && data == 0)) {
		throw_text(env, "%d bytes of private data at 0x%llx: 0 to %d bytes can be sent", data_length,
			   (unsigned long long)data, PRIVATE_DATA_MAX);
		return;
	}
	if (data_length > 0) {
		wish.private_data = (const void *)(uintptr_t)data;
		wish.private_data_len = (uint8_t)data_length;
	}
	if (rdma_connect(id, &wish) != 0)
		throw_errno(env, errno, "rdma_connect");
}

NATIVE(void, accept)(JNIEnv *env, jobject self, jlong handle, jint retries, jint receiver_retries)
{
	struct rdma_cm_id *id = require(env, handle, ID);
	struct rdma_conn_param wish;

	(void)self;
	if (id == NULL || !parameters(env, retries, receiver_retries, &wish))
		return;
	if (rdma_accept(id, &wish) != 0)
		throw_errno(env, errno, "rdma_accept");
}

NATIVE(jint, disconnect)(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = from_handle(handle);

	(void)env;
	(void)self;
	return id == NULL ? -EINVAL : negative_errno(rdma_disconnect(id));
}

/*
 * Takes the next event and returns its number. Writes the listening identifier (0 unless the event is a connect request) and the
 * event's own identifier to the two addresses. Returns -EAGAIN if no event came within timeout milliseconds.
 *
 * The event is acknowledged here, because DiSNI passes only the event's number to ackCmEvent. After that, the event's status and
 * private data are no longer valid; DiSNI reads neither.
 */
NATIVE(jint, getCmEvent)(JNIEnv *env, jobject self, jlong handle, jlong listen_address, jlong id_address, jint timeout)
{
	struct rdma_event_channel *channel = from_handle(handle);
	struct rdma_cm_event *event;
	jlong listener;
	jlong id;
	jint number;
	int error;

	(void)env;
	(void)self;
	if (channel == NULL || listen_address == 0 || id_address == 0)
		return -EINVAL;
	error = await_readable(channel->fd, timeout);
	if (error != 0)
		return -error;
	if (rdma_get_cm_event(channel, &event) != 0)
		return -errno;
	listener = to_handle(event->listen_id);
	id = to_handle(event->id);
	number = (jint)event->event;
	memcpy((void *)(uintptr_t)listen_address, &listener, sizeof(listener));
	memcpy((void *)(uintptr_t)id_address, &id, sizeof(id));
	rdma_ack_cm_event(event);
	return number;
}

NATIVE(jint, ackCmEvent)(JNIEnv *env, jobject self, jint event)
{
	(void)env;
	(void)self;
	(void)event;
	return 0;
}

static jint write_address(const struct sockaddr *address, jlong destination)
{
	if (address == NULL || destination == 0)
		return -EINVAL;
	if (address->sa_family != AF_INET)
		return -EAFNOSUPPORT;
	memcpy((void *)(uintptr_t)destination, address, sizeof(struct sockaddr_in));
	return 0;
}

NATIVE(jint, getSrcAddr)(JNIEnv *env, jobject self, jlong handle, jlong destination)
{
	struct rdma_cm_id *id = from_handle(handle);

	(void)env;
	(void)self;
	return write_address(id == NULL ? NULL : rdma_get_local_addr(id), destination);
}

NATIVE(jint, getDstAddr)(JNIEnv *env, jobject self, jlong handle, jlong destination)
{
	struct rdma_cm_id *id = from_handle(handle);

	(void)env;
	(void)self;
	return write_address(id == NULL ? NULL : rdma_get_peer_addr(id), destination);
}

NATIVE(jlong, getContext)(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = require(env, handle, ID);

	(void)self;
	if (id == NULL)
		return -1;
	if (id->verbs == NULL)
		return throw_text(env, "the identifier is not bound to a device: resolve or bind its address first");
	return to_handle(id->verbs);
}
