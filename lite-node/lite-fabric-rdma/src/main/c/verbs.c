/* The verbs: protection domains, registered memory, completion queues, and posting to queue pairs. */
#include "natives.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT "a device context"
#define CQ "a completion queue"
#define COMPLETION_CHANNEL "a completion channel"
#define DOMAIN "a protection domain"
#define QP "a queue pair"
#define REGION "a memory region"

_Static_assert(offsetof(struct ibv_comp_channel, fd) == 8, "the driver reads the descriptor");

/*
 * This library's data for a completion queue, in its cq_context. ibv_destroy_cq waits without limit until every taken event is
 * acknowledged; with more acknowledgements than events it never returns. So the unacknowledged events are counted.
 */
struct cq_events {
	atomic_uint unacknowledged;
};

NATIVE(jint, getContextFd)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = require(env, handle, CONTEXT);

	(void)self;
	return context == NULL ? -1 : context->cmd_fd;
}

NATIVE(jint, getContextNumCompVectors)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = require(env, handle, CONTEXT);

	(void)self;
	return context == NULL ? -1 : context->num_comp_vectors;
}

NATIVE(jlong, allocPd)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = require(env, handle, CONTEXT);
	struct ibv_pd *pd;

	(void)self;
	if (context == NULL)
		return -1;
	pd = ibv_alloc_pd(context);
	return pd == NULL ? throw_errno(env, errno, "ibv_alloc_pd") : to_handle(pd);
}

NATIVE(jint, getPdHandle)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_pd *pd = require(env, handle, DOMAIN);

	(void)self;
	return pd == NULL ? -1 : (jint)pd->handle;
}

NATIVE(jint, deallocPd)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_pd *pd = from_handle(handle);

	(void)env;
	(void)self;
	return pd == NULL ? -EINVAL : -ibv_dealloc_pd(pd);
}

NATIVE(jlong, regMr)
(JNIEnv *env, jobject self, jlong pd_handle, jlong address, jint length, jint access, jlong local_key, jlong remote_key,
 jlong region_handle)
{
	struct ibv_pd *pd = require(env, pd_handle, DOMAIN);
	struct ibv_mr *mr;

	(void)self;
	if (pd == NULL)
		return -1;
	if (address == 0 || length <= 0)
		return throw_text(env, "cannot register %d bytes at 0x%llx: 1 to %d bytes at a non-zero address are required", length,
				  (unsigned long long)address, INT32_MAX);
	if (local_key == 0 || remote_key == 0 || region_handle == 0)
		return throw_text(env, "no place given to write the keys of a memory region to");
	mr = ibv_reg_mr(pd, (void *)(uintptr_t)address, (size_t)length, (unsigned)access);
	if (mr == NULL)
		return throw_errno(env, errno, "ibv_reg_mr of %d bytes at 0x%llx for access 0x%x%s", length,
				   (unsigned long long)address, (unsigned)access,
				   errno == ENOMEM ? " (is the limit of locked memory, ulimit -l, too low?)" : "");
	memcpy((void *)(uintptr_t)local_key, &mr->lkey, sizeof(mr->lkey));
	memcpy((void *)(uintptr_t)remote_key, &mr->rkey, sizeof(mr->rkey));
	memcpy((void *)(uintptr_t)region_handle, &mr->handle, sizeof(mr->handle));
	return to_handle(mr);
}

NATIVE(void, deregMr)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_mr *mr = require(env, handle, REGION);
	int error;

	(void)self;
	if (mr == NULL)
		return;
	error = ibv_dereg_mr(mr);
	if (error != 0)
		throw_errno(env, error, "ibv_dereg_mr");
}

/* The device's support for on-demand paging: bits of enum ibv_odp_general_caps, 0 for none. */
NATIVE(jint, queryOdpSupport)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = from_handle(handle);
	struct ibv_device_attr_ex device;
	int error;

	(void)env;
	(void)self;
	if (context == NULL)
		return -EINVAL;
	memset(&device, 0, sizeof(device));
	error = ibv_query_device_ex(context, NULL, &device);
	return error == 0 ? (jint)device.odp_caps.general_caps : -error;
}

NATIVE(jint, expPrefetchMr)(JNIEnv *env, jobject self, jlong handle, jlong address, jint length)
{
	struct ibv_mr *mr = require(env, handle, REGION);
	struct ibv_sge range;
	uint64_t offset;
	int error;

	(void)self;
	if (mr == NULL)
		return -1;
	offset = (uint64_t)address - (uintptr_t)mr->addr;
	if (length <= 0 || (size_t)length > mr->length || offset > mr->length - (size_t)length)
		return throw_text(env, "%d bytes at 0x%llx are not inside the region of %zu bytes at %p", length,
				  (unsigned long long)address, mr->length, mr->addr);
	range = (struct ibv_sge){ .addr = (uint64_t)address, .length = (uint32_t)length, .lkey = mr->lkey };
	error = ibv_advise_mr(mr->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &range, 1);
	return error == 0 ? 0 : throw_errno(env, error, "ibv_advise_mr of %d bytes", length);
}

NATIVE(jlong, createCompChannel)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = require(env, handle, CONTEXT);
	struct ibv_comp_channel *channel;
	int error;

	(void)self;
	if (context == NULL)
		return -1;
	channel = ibv_create_comp_channel(context);
	if (channel == NULL)
		return throw_errno(env, errno, "ibv_create_comp_channel");
	error = make_nonblocking(channel->fd);
	if (error != 0) {
		ibv_destroy_comp_channel(channel);
		return throw_errno(env, error, "cannot make a completion channel non-blocking");
	}
	return to_handle(channel);
}

NATIVE(jint, destroyCompChannel)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_comp_channel *channel = from_handle(handle);

	(void)env;
	(void)self;
	return channel == NULL ? -EINVAL : -ibv_destroy_comp_channel(channel);
}

NATIVE(jlong, createCQ)
(JNIEnv *env, jobject self, jlong context_handle, jlong channel_handle, jint entries, jint vector)
{
	struct ibv_context *context = require(env, context_handle, CONTEXT);
	struct ibv_comp_channel *channel = context == NULL ? NULL : require(env, channel_handle, COMPLETION_CHANNEL);
	struct cq_events *events;
	struct ibv_cq *cq;
	int error;

	(void)self;
	if (channel == NULL)
		return -1;
	if (entries <= 0 || vector < 0 || vector >= context->num_comp_vectors)
		return throw_text(env, "a completion queue of %d entries on vector %d: 1 entry or more and a vector below %d are needed",
				  entries, vector, context->num_comp_vectors);
	events = malloc(sizeof(*events));
	if (events == NULL)
		return throw_errno(env, ENOMEM, "a completion queue's %zu bytes", sizeof(*events));
	atomic_init(&events->unacknowledged, 0);
	cq = ibv_create_cq(context, entries, events, channel, vector);
	if (cq == NULL) {
		error = errno;
		free(events);
		return throw_errno(env, error, "ibv_create_cq of %d entries on vector %d", entries, vector);
	}
	return to_handle(cq);
}

/* Acknowledges taken events, at most wanted. */
static void acknowledge(struct ibv_cq *cq, unsigned wanted)
{
	struct cq_events *events = cq->cq_context;
	unsigned taken = atomic_load(&events->unacknowledged);
	unsigned count;

	do {
		count = wanted < taken ? wanted : taken;
	} while (!atomic_compare_exchange_weak(&events->unacknowledged, &taken, taken - count));
	if (count > 0)
		ibv_ack_cq_events(cq, count);
}

NATIVE(jint, ackCqEvent)(JNIEnv *env, jobject self, jlong handle, jint count)
{
	struct ibv_cq *cq = from_handle(handle);

	(void)env;
	(void)self;
	if (cq == NULL || count < 0)
		return -EINVAL;
	acknowledge(cq, (unsigned)count);
	return 0;
}

NATIVE(jint, destroyCQ)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_cq *cq = from_handle(handle);
	struct cq_events *events;
	int error;

	(void)env;
	(void)self;
	if (cq == NULL)
		return -EINVAL;
	events = cq->cq_context;
	acknowledge(cq, UINT32_MAX);
	error = ibv_destroy_cq(cq);
	if (error == 0)
		free(events);
	return -error;
}

/* Takes an event, which must be acknowledged later, and returns 0; returns -1 if none came within timeout milliseconds. */
NATIVE(jint, getCqEvent)(JNIEnv *env, jobject self, jlong handle, jint timeout)
{
	struct ibv_comp_channel *channel = require(env, handle, COMPLETION_CHANNEL);
	struct ibv_cq *cq;
	void *events;
	int error;

	(void)self;
	if (channel == NULL)
		return -1;
	error = await_readable(channel->fd, timeout);
	if (error == 0 && ibv_get_cq_event(channel, &cq, &events) != 0)
		error = errno;
	if (error == EAGAIN || error == EINTR)
		return -1;
	if (error != 0)
		return throw_errno(env, error, "ibv_get_cq_event");
	atomic_fetch_add(&((struct cq_events *)events)->unacknowledged, 1);
	return 0;
}

NATIVE(jint, reqNotifyCQ)(JNIEnv *env, jobject self, jlong handle, jint solicited)
{
	struct ibv_cq *cq = require(env, handle, CQ);
	int error;

	(void)self;
	if (cq == NULL)
		return -1;
	error = ibv_req_notify_cq(cq, solicited != 0);
	return error == 0 ? 0 : throw_errno(env, error, "ibv_req_notify_cq");
}

NATIVE(jint, pollCQ)(JNIEnv *env, jobject self, jlong handle, jint count, jlong destination)
{
	struct ibv_cq *cq = require(env, handle, CQ);
	struct ibv_wc *completions = cq == NULL ? NULL : require(env, destination, "a list of completions");

	(void)self;
	if (completions == NULL)
		return -1;
	if (count <= 0)
		return throw_text(env, "cannot poll for %d completions: 1 or more are needed", count);
	return ibv_poll_cq(cq, count, completions);
}

NATIVE(jint, getQpNum)(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_qp *qp = require(env, handle, QP);

	(void)self;
	return qp == NULL ? -1 : (jint)qp->qp_num;
}

/* Not supported: DiSNI passes neither the attributes nor the mask of those to change. */
NATIVE(jint, modifyQP)(JNIEnv *env, jobject self, jlong handle, jlong attributes)
{
	(void)env;
	(void)self;
	(void)handle;
	(void)attributes;
	return -EOPNOTSUPP;
}

/* Most drivers return an errno; some return -1 and set errno. */
static int post_error(int result)
{
	return result > 0 ? result : errno;
}

NATIVE(void, postSend)(JNIEnv *env, jobject self, jlong handle, jlong requests)
{
	struct ibv_qp *qp = require(env, handle, QP);
	struct ibv_send_wr *request = qp == NULL ? NULL : require(env, requests, "a send request");
	struct ibv_send_wr *refused = NULL;
	int result;

	(void)self;
	if (request == NULL)
		return;
	result = ibv_post_send(qp, request, &refused);
	if (result != 0)
		throw_errno(env, post_error(result), "ibv_post_send: request 0x%llx was not posted",
			    (unsigned long long)(refused == NULL ? request : refused)->wr_id);
}

NATIVE(void, postRecv)(JNIEnv *env, jobject self, jlong handle, jlong requests)
{
	struct ibv_qp *qp = require(env, handle, QP);
	struct ibv_recv_wr *request = qp == NULL ? NULL : require(env, requests, "a receive request");
	struct ibv_recv_wr *refused = NULL;
	int result;

	(void)self;
	if (request == NULL)
		return;
	result = ibv_post_recv(qp, request, &refused);
	if (result != 0)
		throw_errno(env, post_error(result), "ibv_post_recv: request 0x%llx was not posted",
			    (unsigned long long)(refused == NULL ? request : refused)->wr_id);
}
