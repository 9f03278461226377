/*
 * Tests of libdisni without a device and without a JVM. The JVM is a table of two functions. The fakes below replace the functions
 * of rdma-core that would call the kernel. Run under the sanitizers.
 */
#include "natives.c"
#include "connections.c"
#include "verbs.c"

#include <stdlib.h>
#include <unistd.h>

#define CALL(name) Java_com_ibm_disni_verbs_impl_NativeDispatcher__1##name
#define HANDLE(structure) to_handle(&(structure))

#define CHECK(condition)                                                                             \
	do {                                                                                         \
		if (!(condition)) {                                                                  \
			printf("line %d: not %s; thrown: '%s'\n", __LINE__, #condition, thrown); \
			exit(1);                                                                     \
		}                                                                                    \
	} while (0)

/* The JVM. */

static char thrown[1024];
static int throws;
static bool class_is_found = true;

static jclass JNICALL find_class(JNIEnv *env, const char *name)
{
	(void)env;
	CHECK(strcmp(name, "java/io/IOException") == 0);
	return class_is_found ? (jclass)&class_is_found : NULL;
}

static jint JNICALL throw_new(JNIEnv *env, jclass type, const char *message)
{
	(void)env;
	CHECK(type == (jclass)&class_is_found);
	CHECK(strlen(message) < TEXT_BYTES);
	snprintf(thrown, sizeof(thrown), "%s", message);
	throws++;
	return 0;
}

static const struct JNINativeInterface_ functions = { .FindClass = find_class, .ThrowNew = throw_new };
static JNIEnv jvm = &functions;
#define JVM (&jvm), NULL

/* Whether exactly one exception was thrown since the last call, with this text in its message. */
static bool threw(const char *part)
{
	bool result = throws == 1 && strstr(thrown, part) != NULL;

	throws = 0;
	return result;
}

/* The device. */

static int next_error;
static struct ibv_context context = { .num_comp_vectors = 2, .cmd_fd = 77 };
static struct ibv_pd pd = { .context = &context, .handle = 5 };
static struct ibv_comp_channel completion_channel = { .context = &context };
static unsigned events_acknowledged;
static unsigned events_taken;
static int queues;
static int regions;
static struct ibv_cq *latest_queue;

struct ibv_cq *ibv_create_cq(struct ibv_context *device, int entries, void *state, struct ibv_comp_channel *channel, int vector)
{
	(void)entries;
	(void)vector;
	if (next_error != 0) {
		errno = next_error;
		return NULL;
	}
	latest_queue = calloc(1, sizeof(*latest_queue));
	latest_queue->context = device;
	latest_queue->channel = channel;
	latest_queue->cq_context = state;
	queues++;
	return latest_queue;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (next_error != 0)
		return next_error;
	/* The real function would wait forever. */
	CHECK(events_acknowledged == events_taken);
	queues--;
	free(cq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **state)
{
	char byte;

	if (read(channel->fd, &byte, 1) != 1)
		return -1;
	events_taken++;
	*cq = latest_queue;
	*state = latest_queue->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	CHECK(cq == latest_queue);
	events_acknowledged += count;
}

static struct ibv_mr *make_region(struct ibv_pd *domain, void *address, size_t length)
{
	struct ibv_mr *mr;

	if (next_error != 0) {
		errno = next_error;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	*mr = (struct ibv_mr){ .context = domain->context, .pd = domain, .addr = address, .length = length };
	mr->lkey = 0x11121314;
	mr->rkey = 0x21222324;
	mr->handle = 0x31323334;
	regions++;
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *domain, void *address, size_t length, int access)
{
	(void)access;
	return make_region(domain, address, length);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *domain, void *address, size_t length, uint64_t iova, unsigned access)
{
	(void)iova;
	(void)access;
	return make_region(domain, address, length);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (next_error != 0)
		return next_error;
	regions--;
	free(mr);
	return 0;
}

int ibv_query_device(struct ibv_context *device, struct ibv_device_attr *answer)
{
	(void)device;
	memset(answer, 0, sizeof(*answer));
	answer->max_sge = next_error == 0 ? 3 : 0;
	return 0;
}

/* The inline verbs call functions in the context's table. */

static struct ibv_send_wr *posted;
static int post_result;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **refused)
{
	(void)qp;
	posted = request;
	if (post_result != 0 && request->next != NULL)
		*refused = request->next;
	errno = EIO;
	return post_result;
}

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **refused)
{
	(void)qp;
	if (post_result != 0)
		*refused = request;
	return post_result;
}

static int poll_queue(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
	(void)cq;
	if (post_result != 0)
		return -1;
	memset(completions, 0x5a, (size_t)count * sizeof(*completions));
	return count;
}

static int request_notification(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	return solicited ? post_result : 0;
}

/* The connection manager. */

static struct rdma_cm_event next_event;
static int events_open;
static struct rdma_conn_param connected_with;
static struct ibv_qp_init_attr created_with;
static struct ibv_qp queue_pair = { .context = &context, .qp_num = 0x123 };
static int destroyed_pairs;
static int destroyed_ids;

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	char byte;

	if (read(channel->fd, &byte, 1) != 1)
		return -1;
	events_open++;
	*event = &next_event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	CHECK(event == &next_event);
	events_open--;
	/* The real function frees it. */
	memset(event, 0xff, sizeof(*event));
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters_given)
{
	(void)id;
	connected_with = *parameters_given;
	errno = next_error;
	return next_error == 0 ? 0 : -1;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *domain, struct ibv_qp_init_attr *wish)
{
	CHECK(domain == &pd);
	created_with = *wish;
	errno = next_error;
	if (next_error != 0)
		return -1;
	id->qp = &queue_pair;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	CHECK(id->qp != NULL);
	id->qp = NULL;
	destroyed_pairs++;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	CHECK(id->qp == NULL);
	destroyed_ids++;
	return 0;
}

/* The tests. */

/* Passes handle 0 and a handle that cannot be an address to every function. */
static void refuses_bad_handles(void)
{
	static const jlong bad[] = { 0, 1, 0x12345, -1 };
	char place[64];
	jlong at = to_handle(place);

	for (size_t index = 0; index < sizeof(bad) / sizeof(bad[0]); index++) {
		jlong handle = bad[index];

		CHECK(CALL(createId)(JVM, handle, RDMA_PS_TCP) == -1 && threw("event channel"));
		CHECK(CALL(createQP)(JVM, handle, handle, handle, handle, 2, 1, 1, 0) == -1 && threw("connection identifier"));
		CALL(bindAddr)(JVM, handle, at);
		CHECK(threw("connection identifier"));
		CALL(listen)(JVM, handle, 1);
		CHECK(threw("connection identifier"));
		CALL(resolveAddr)(JVM, handle, 0, at, 1);
		CHECK(threw("connection identifier"));
		CALL(resolveRoute)(JVM, handle, 1);
		CHECK(threw("connection identifier"));
		CALL(connect)(JVM, handle, 1, 1, 0, 0);
		CHECK(threw("connection identifier"));
		CALL(accept)(JVM, handle, 1, 1);
		CHECK(threw("connection identifier"));
		CHECK(CALL(getContext)(JVM, handle) == -1 && threw("connection identifier"));
		CHECK(CALL(getCmEvent)(JVM, handle, at, at + 8, 0) == -EINVAL);
		CHECK(CALL(disconnect)(JVM, handle) == -EINVAL);
		CHECK(CALL(destroyEventChannel)(JVM, handle) == -EINVAL);
		CHECK(CALL(destroyCmId)(JVM, handle) == -EINVAL);
		CHECK(CALL(destroyQP)(JVM, handle) == -EINVAL);
		CHECK(CALL(destroyEp)(JVM, handle) == -EINVAL);
		CHECK(CALL(getSrcAddr)(JVM, handle, at) == -EINVAL);
		CHECK(CALL(getDstAddr)(JVM, handle, at) == -EINVAL);
		CHECK(CALL(allocPd)(JVM, handle) == -1 && threw("device context"));
		CHECK(CALL(createCompChannel)(JVM, handle) == -1 && threw("device context"));
		CHECK(CALL(createCQ)(JVM, handle, handle, 1, 0) == -1 && threw("device context"));
		CHECK(CALL(createCQ)(JVM, HANDLE(context), handle, 1, 0) == -1 && threw("completion channel"));
		CHECK(CALL(getContextFd)(JVM, handle) == -1 && threw("device context"));
		CHECK(CALL(getContextNumCompVectors)(JVM, handle) == -1 && threw("device context"));
		CHECK(CALL(queryOdpSupport)(JVM, handle) == -EINVAL);
		CHECK(CALL(regMr)(JVM, handle, at, 8, 7, at, at + 4, at + 8) == -1 && threw("protection domain"));
		CHECK(CALL(getPdHandle)(JVM, handle) == -1 && threw("protection domain"));
		CHECK(CALL(deallocPd)(JVM, handle) == -EINVAL);
		CHECK(CALL(expPrefetchMr)(JVM, handle, at, 8) == -1 && threw("memory region"));
		CALL(deregMr)(JVM, handle);
		CHECK(threw("memory region"));
		CHECK(CALL(getCqEvent)(JVM, handle, 0) == -1 && threw("completion channel"));
		CHECK(CALL(destroyCompChannel)(JVM, handle) == -EINVAL);
		CHECK(CALL(pollCQ)(JVM, handle, 1, at) == -1 && threw("completion queue"));
		CHECK(CALL(reqNotifyCQ)(JVM, handle, 0) == -1 && threw("completion queue"));
		CHECK(CALL(ackCqEvent)(JVM, handle, 1) == -EINVAL);
		CHECK(CALL(destroyCQ)(JVM, handle) == -EINVAL);
		CHECK(CALL(getQpNum)(JVM, handle) == -1 && threw("queue pair"));
		CHECK(CALL(modifyQP)(JVM, handle, handle) == -EOPNOTSUPP);
		CALL(postSend)(JVM, handle, at);
		CHECK(threw("queue pair"));
		CALL(postSend)(JVM, HANDLE(queue_pair), handle);
		CHECK(threw("send request"));
		CALL(postRecv)(JVM, handle, at);
		CHECK(threw("queue pair"));
		CALL(postRecv)(JVM, HANDLE(queue_pair), handle);
		CHECK(threw("receive request"));
	}
}

static void cuts_long_messages(void)
{
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	CHECK(throw_text(&jvm, "%s", text) == -1);
	CHECK(threw("xxx"));
	CHECK(strlen(thrown) == TEXT_BYTES - 1);
	CHECK(throw_errno(&jvm, EIO, "%s", text) == -1);
	CHECK(threw("xxx"));
	text[TEXT_BYTES - 5] = 0;
	CHECK(throw_errno(&jvm, EIO, "%s", text) == -1);
	CHECK(threw("x: I"));
	CHECK(throw_errno(&jvm, 123456, "what") == -1);
	CHECK(threw("what: "));
}

static void survives_a_jvm_without_the_class(void)
{
	class_is_found = false;
	CHECK(CALL(allocPd)(JVM, 0) == -1);
	CHECK(throws == 0);
	class_is_found = true;
}

static void counts_the_events_of_a_completion_queue(void)
{
	int ends[2];
	jlong cq;

	CHECK(pipe(ends) == 0);
	completion_channel.fd = ends[0];
	CHECK(make_nonblocking(ends[0]) == 0);
	cq = CALL(createCQ)(JVM, HANDLE(context), HANDLE(completion_channel), 16, 1);
	CHECK(cq > 0);
	CHECK(CALL(getCqEvent)(JVM, HANDLE(completion_channel), 0) == -1 && throws == 0);
	CHECK(CALL(getCqEvent)(JVM, HANDLE(completion_channel), 1) == -1 && throws == 0);
	CHECK(write(ends[1], "abc", 3) == 3);
	for (int event = 0; event < 3; event++)
		CHECK(CALL(getCqEvent)(JVM, HANDLE(completion_channel), 0) == 0);
	CHECK(CALL(ackCqEvent)(JVM, cq, 0) == 0 && events_acknowledged == 0);
	CHECK(CALL(ackCqEvent)(JVM, cq, -1) == -EINVAL && events_acknowledged == 0);
	CHECK(CALL(ackCqEvent)(JVM, cq, 1) == 0 && events_acknowledged == 1);
	CHECK(CALL(ackCqEvent)(JVM, cq, INT32_MAX) == 0 && events_acknowledged == 3);
	CHECK(CALL(ackCqEvent)(JVM, cq, 1) == 0 && events_acknowledged == 3);
	CHECK(write(ends[1], "d", 1) == 1);
	CHECK(CALL(getCqEvent)(JVM, HANDLE(completion_channel), 0) == 0);
	/* If destroying fails, the queue stays usable and can be destroyed later. */
	next_error = EBUSY;
	CHECK(CALL(destroyCQ)(JVM, cq) == -EBUSY);
	next_error = 0;
	CHECK(CALL(destroyCQ)(JVM, cq) == 0 && events_acknowledged == 4 && queues == 0);
	close(ends[0]);
	CHECK(CALL(getCqEvent)(JVM, HANDLE(completion_channel), 0) == -1 && threw("ibv_get_cq_event"));
	close(ends[1]);
}

static void refuses_impossible_completion_queues(void)
{
	jlong device = HANDLE(context);
	jlong channel = HANDLE(completion_channel);

	CHECK(CALL(createCQ)(JVM, device, channel, 0, 0) == -1 && threw("0 entries"));
	CHECK(CALL(createCQ)(JVM, device, channel, -5, 0) == -1 && threw("-5 entries"));
	CHECK(CALL(createCQ)(JVM, device, channel, 1, -1) == -1 && threw("vector -1"));
	CHECK(CALL(createCQ)(JVM, device, channel, 1, 2) == -1 && threw("a vector below 2"));
	/* The allocated memory must be freed; the leak checker verifies this. */
	next_error = ENOMEM;
	CHECK(CALL(createCQ)(JVM, device, channel, 1, 0) == -1 && threw("ibv_create_cq of 1 entries on vector 0: Cannot"));
	next_error = 0;
}

static void registers_memory_and_writes_its_keys_anywhere(void)
{
	char memory[64];
	unsigned char keys[13];
	jlong at = to_handle(keys) + 1;
	jlong place = to_handle(memory);
	uint32_t key;
	jlong mr;

	CHECK(CALL(regMr)(JVM, HANDLE(pd), 0, 8, 7, at, at + 4, at + 8) == -1 && threw("8 bytes at 0x0"));
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 0, 7, at, at + 4, at + 8) == -1 && threw("0 bytes"));
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, -8, 7, at, at + 4, at + 8) == -1 && threw("-8 bytes"));
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 8, 7, 0, at, at) == -1 && threw("no place"));
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 8, 7, at, 0, at) == -1 && threw("no place"));
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 8, 7, at, at, 0) == -1 && threw("no place"));
	next_error = ENOMEM;
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 64, 7, at, at + 4, at + 8) == -1 && threw("ulimit -l"));
	CHECK(strstr(thrown, "(errno 12)") != NULL);
	next_error = EINVAL;
	CHECK(CALL(regMr)(JVM, HANDLE(pd), place, 64, -1, at, at + 4, at + 8) == -1 && threw("access 0xffffffff: Invalid"));
	next_error = 0;
	mr = CALL(regMr)(JVM, HANDLE(pd), place, 64, 7, at, at + 4, at + 8);
	CHECK(mr > 0 && regions == 1);
	memcpy(&key, keys + 1, 4);
	CHECK(key == 0x11121314);
	memcpy(&key, keys + 5, 4);
	CHECK(key == 0x21222324);
	memcpy(&key, keys + 9, 4);
	CHECK(key == 0x31323334);
	CHECK(CALL(expPrefetchMr)(JVM, mr, place - 1, 8) == -1 && threw("not inside the region of 64 bytes"));
	CHECK(CALL(expPrefetchMr)(JVM, mr, place + 60, 8) == -1 && threw("not inside"));
	CHECK(CALL(expPrefetchMr)(JVM, mr, place, 65) == -1 && threw("not inside"));
	CHECK(CALL(expPrefetchMr)(JVM, mr, place, INT32_MAX) == -1 && threw("not inside"));
	CHECK(CALL(expPrefetchMr)(JVM, mr, place, -1) == -1 && threw("not inside"));
	CHECK(CALL(expPrefetchMr)(JVM, mr, INT64_MIN, 8) == -1 && threw("not inside"));
	next_error = EBUSY;
	CALL(deregMr)(JVM, mr);
	CHECK(threw("ibv_dereg_mr: Device or resource busy"));
	next_error = 0;
	CALL(deregMr)(JVM, mr);
	CHECK(throws == 0 && regions == 0);
}

static void posting_tells_which_request_was_refused(void)
{
	struct ibv_send_wr second = { .wr_id = 0xbeef };
	struct ibv_send_wr first = { .wr_id = 0xcafe, .next = &second };
	struct ibv_recv_wr receive = { .wr_id = 0xfeed };

	post_result = 0;
	CALL(postSend)(JVM, HANDLE(queue_pair), HANDLE(first));
	CHECK(throws == 0 && posted == &first);
	post_result = ENOMEM;
	CALL(postSend)(JVM, HANDLE(queue_pair), HANDLE(first));
	CHECK(threw("request 0xbeef was not posted: Cannot allocate memory (errno 12)"));
	/* A driver that does not report the refused request, and one that returns -1 and sets errno. */
	CALL(postSend)(JVM, HANDLE(queue_pair), HANDLE(second));
	CHECK(threw("request 0xbeef"));
	post_result = -1;
	CALL(postSend)(JVM, HANDLE(queue_pair), HANDLE(first));
	CHECK(threw("(errno 5)"));
	post_result = EINVAL;
	CALL(postRecv)(JVM, HANDLE(queue_pair), HANDLE(receive));
	CHECK(threw("ibv_post_recv: request 0xfeed was not posted: Invalid argument (errno 22)"));
	post_result = 0;
	CALL(postRecv)(JVM, HANDLE(queue_pair), HANDLE(receive));
	CHECK(throws == 0);
}

static void polling_fills_no_more_than_there_is_room_for(void)
{
	struct ibv_cq cq = { .context = &context };
	struct ibv_wc completions[3];

	memset(completions, 0, sizeof(completions));
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), 2, to_handle(completions)) == 2);
	CHECK(completions[1].wr_id == 0x5a5a5a5a5a5a5a5aull && completions[2].wr_id == 0);
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), 0, to_handle(completions)) == -1 && threw("0 completions"));
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), -3, to_handle(completions)) == -1 && threw("-3 completions"));
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), 1, 0) == -1 && threw("list of completions"));
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), 1, to_handle(completions) + 4) == -1 && threw("list of completions"));
	post_result = EIO;
	CHECK(CALL(pollCQ)(JVM, HANDLE(cq), 1, to_handle(completions)) == -1 && throws == 0);
	CHECK(CALL(reqNotifyCQ)(JVM, HANDLE(cq), 1) == -1 && threw("ibv_req_notify_cq: Input/output error"));
	CHECK(CALL(reqNotifyCQ)(JVM, HANDLE(cq), 0) == 0 && throws == 0);
	post_result = 0;
}

static void takes_an_event_and_acknowledges_it(void)
{
	/* It has only a descriptor, but malloc aligns it like every handle. */
	struct rdma_event_channel *channel = malloc(sizeof(*channel));
	struct rdma_cm_id listener;
	struct rdma_cm_id id;
	unsigned char out[17];
	jlong at = to_handle(out) + 1;
	jlong handle;
	int ends[2];

	CHECK(pipe(ends) == 0);
	channel->fd = ends[0];
	CHECK(make_nonblocking(ends[0]) == 0);
	CHECK(CALL(getCmEvent)(JVM, to_handle(channel), at, at + 8, 0) == -EAGAIN);
	CHECK(CALL(getCmEvent)(JVM, to_handle(channel), 0, at, 0) == -EINVAL);
	CHECK(CALL(getCmEvent)(JVM, to_handle(channel), at, 0, 0) == -EINVAL);
	CHECK(write(ends[1], "xy", 2) == 2);
	next_event = (struct rdma_cm_event){ .id = &id, .listen_id = &listener, .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	CHECK(CALL(getCmEvent)(JVM, to_handle(channel), at, at + 8, 1000) == RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(events_open == 0);
	memcpy(&handle, out + 1, 8);
	CHECK(handle == HANDLE(listener));
	memcpy(&handle, out + 9, 8);
	CHECK(handle == HANDLE(id));
	next_event = (struct rdma_cm_event){ .id = &id, .event = RDMA_CM_EVENT_ADDR_RESOLVED };
	CHECK(CALL(getCmEvent)(JVM, to_handle(channel), at, at + 8, -1) == RDMA_CM_EVENT_ADDR_RESOLVED);
	memcpy(&handle, out + 1, 8);
	CHECK(handle == 0);
	CHECK(CALL(ackCmEvent)(JVM, RDMA_CM_EVENT_ADDR_RESOLVED) == 0 && events_open == 0);
	free(channel);
	close(ends[0]);
	close(ends[1]);
}

static void checks_what_a_connection_is_asked_for(void)
{
	struct rdma_cm_id id = { .verbs = &context };
	char data[PRIVATE_DATA_MAX] = "hello";
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	CALL(connect)(JVM, HANDLE(id), 8, 0, 0, 0);
	CHECK(threw("8 retries and 0"));
	CALL(connect)(JVM, HANDLE(id), 0, -1, 0, 0);
	CHECK(threw("must be 0 to 7"));
	CALL(accept)(JVM, HANDLE(id), -1, 0);
	CHECK(threw("-1 retries"));
	CALL(connect)(JVM, HANDLE(id), 1, 2, to_handle(data), PRIVATE_DATA_MAX + 1);
	CHECK(threw("57 bytes of private data"));
	CALL(connect)(JVM, HANDLE(id), 1, 2, to_handle(data), -1);
	CHECK(threw("-1 bytes of private data"));
	CALL(connect)(JVM, HANDLE(id), 1, 2, 0, 3);
	CHECK(threw("3 bytes of private data at 0x0"));
	CALL(connect)(JVM, HANDLE(id), 1, 2, to_handle(data), PRIVATE_DATA_MAX);
	CHECK(throws == 0 && connected_with.private_data == data && connected_with.private_data_len == PRIVATE_DATA_MAX);
	CHECK(connected_with.retry_count == 1 && connected_with.rnr_retry_count == 2);
	CHECK(connected_with.responder_resources == RDMA_MAX_RESP_RES);
	next_error = EHOSTUNREACH;
	CALL(connect)(JVM, HANDLE(id), 1, 2, 0, 0);
	CHECK(threw("rdma_connect: No route to host") && connected_with.private_data == NULL);
	next_error = 0;
	CALL(listen)(JVM, HANDLE(id), -1);
	CHECK(threw("backlog of -1"));
	CALL(resolveRoute)(JVM, HANDLE(id), -1);
	CHECK(threw("-1 ms"));
	CALL(bindAddr)(JVM, HANDLE(id), 0);
	CHECK(threw("no socket address"));
	CALL(bindAddr)(JVM, HANDLE(id), HANDLE(six));
	CHECK(threw("family 10; only IPv4 (2)"));
	CALL(resolveAddr)(JVM, HANDLE(id), 0, HANDLE(six), 1);
	CHECK(threw("family 10"));
	CALL(resolveAddr)(JVM, HANDLE(id), 0, 0, 1);
	CHECK(threw("no socket address"));
}

static void gives_addresses_of_ipv4_only(void)
{
	struct rdma_cm_id id = { 0 };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = 0x1234, .sin_addr.s_addr = 0x0100007f };
	unsigned char out[sizeof(address) + 1];

	memcpy(&id.route.addr.src_addr, &address, sizeof(address));
	id.route.addr.dst_addr.sa_family = AF_INET6;
	CHECK(CALL(getSrcAddr)(JVM, HANDLE(id), to_handle(out) + 1) == 0);
	CHECK(memcmp(out + 1, &address, sizeof(address)) == 0);
	CHECK(CALL(getSrcAddr)(JVM, HANDLE(id), 0) == -EINVAL);
	CHECK(CALL(getDstAddr)(JVM, HANDLE(id), to_handle(out)) == -EAFNOSUPPORT);
}

static void makes_queue_pairs_within_the_device(void)
{
	struct ibv_cq cq = { .context = &context };
	struct rdma_cm_id id = { .verbs = &context };
	struct rdma_cm_id unbound = { .verbs = NULL };
	jlong queue = HANDLE(cq);
	jlong domain = HANDLE(pd);

	CHECK(CALL(createQP)(JVM, HANDLE(unbound), domain, queue, queue, 2, 1, 1, 0) == -1 && threw("not bound to a device"));
	CHECK(CALL(getContext)(JVM, HANDLE(unbound)) == -1 && threw("not bound to a device"));
	CHECK(CALL(getContext)(JVM, HANDLE(id)) == HANDLE(context));
	CHECK(CALL(createQP)(JVM, HANDLE(id), 0, queue, queue, 2, 1, 1, 0) == -1 && threw("protection domain"));
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, 0, queue, 2, 1, 1, 0) == -1 && threw("completion queue"));
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, 0, 2, 1, 1, 0) == -1 && threw("completion queue"));
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, -1, 1, 0) == -1 && threw("-1 sends"));
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, 1, -1, 0) == -1 && threw("-1 receives"));
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, 1, 1, -1) == -1 && threw("-1 inline bytes"));
	next_error = ENOSPC;
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, 5, 6, 7) == -1 && threw("ibv_query_device: No such device"));
	next_error = 0;
	CHECK(CALL(destroyQP)(JVM, HANDLE(id)) == -EINVAL && destroyed_pairs == 0);
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, 5, 6, 7) == HANDLE(queue_pair));
	CHECK(created_with.cap.max_send_wr == 5 && created_with.cap.max_recv_wr == 6 && created_with.cap.max_inline_data == 7);
	CHECK(created_with.cap.max_send_sge == 3 && created_with.cap.max_recv_sge == 3);
	CHECK(created_with.qp_type == IBV_QPT_RC && created_with.sq_sig_all == 0);
	CHECK(CALL(getQpNum)(JVM, HANDLE(queue_pair)) == 0x123);
	CHECK(CALL(destroyQP)(JVM, HANDLE(id)) == 0 && destroyed_pairs == 1);
	CHECK(CALL(createQP)(JVM, HANDLE(id), domain, queue, queue, 2, 5, 6, 7) == HANDLE(queue_pair));
	CHECK(CALL(destroyCmId)(JVM, HANDLE(id)) == 0 && destroyed_pairs == 2 && destroyed_ids == 1);
}

/* Uses the real library: succeeds if there is a device, otherwise reports what is wrong. */
static void an_event_channel_is_made_or_refused_in_words(void)
{
	jlong channel = CALL(createEventChannel)(JVM);

	if (channel == -1) {
		CHECK(threw("rdma_create_event_channel: "));
		return;
	}
	CHECK(CALL(createId)(JVM, channel, -2) == -1 && threw("port space 0xfffffffe"));
	CHECK(CALL(destroyEventChannel)(JVM, channel) == 0);
}

static void tells_sizes(void)
{
	CHECK(JNI_OnLoad_disni(NULL, NULL) == JNI_VERSION_1_8);
	CHECK(CALL(getVersion)(JVM) == 32);
	CHECK(CALL(getIbvSendWRSize)(JVM) == 128 && CALL(getIbvRecvWRSize)(JVM) == 32);
	CHECK(CALL(getIbvSgeSize)(JVM) == 16 && CALL(getIbvWCSize)(JVM) == 48);
	CHECK(CALL(getSockAddrInSize)(JVM) == 16);
	CHECK(CALL(getRemoteAddressOffset)(JVM) == 40 && CALL(getRKeyOffset)(JVM) == 48);
	CHECK(CALL(getContextFd)(JVM, HANDLE(context)) == 77 && CALL(getPdHandle)(JVM, HANDLE(pd)) == 5);
	CHECK(CALL(getContextNumCompVectors)(JVM, HANDLE(context)) == 2);
}

#define RUN(test)                   \
	do {                        \
		throws = 0;         \
		test();             \
		printf("ok %s\n", #test); \
	} while (0)

int main(void)
{
	context.ops.post_send = post_send;
	context.ops.post_recv = post_receive;
	context.ops.poll_cq = poll_queue;
	context.ops.req_notify_cq = request_notification;
	RUN(refuses_bad_handles);
	RUN(cuts_long_messages);
	RUN(survives_a_jvm_without_the_class);
	RUN(counts_the_events_of_a_completion_queue);
	RUN(refuses_impossible_completion_queues);
	RUN(registers_memory_and_writes_its_keys_anywhere);
	RUN(posting_tells_which_request_was_refused);
	RUN(polling_fills_no_more_than_there_is_room_for);
	RUN(takes_an_event_and_acknowledges_it);
	RUN(checks_what_a_connection_is_asked_for);
	RUN(gives_addresses_of_ipv4_only);
	RUN(makes_queue_pairs_within_the_device);
	RUN(an_event_channel_is_made_or_refused_in_words);
	RUN(tells_sizes);
	printf("all passed\n");
	return 0;
}
