#include "natives.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 256

/* The version of the native library that DiSNI 2.0 requires. */
#define DISNI_NATIVE_VERSION 32

/*
 * Because this function exists, System.loadLibrary("disni") in NativeDispatcher succeeds without a file: the library is already
 * in the process, and JNI treats it as linked into the program (JNI specification, "Library and Version Management"). The
 * returned version is the minimum that the specification requires of such a library.
 */
JNIEXPORT jint JNICALL JNI_OnLoad_disni(JavaVM *vm, void *reserved);

JNIEXPORT jint JNICALL JNI_OnLoad_disni(JavaVM *vm, void *reserved)
{
	(void)vm;
	(void)reserved;
	return JNI_VERSION_1_8;
}

static jint throw_io_exception(JNIEnv *env, const char *text)
{
	/* If the class is not found, another exception is already pending. */
	jclass type = (*env)->FindClass(env, "java/io/IOException");

	if (type != NULL)
		(*env)->ThrowNew(env, type, text);
	return -1;
}

jint throw_text(JNIEnv *env, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return throw_io_exception(env, text);
}

jint throw_errno(JNIEnv *env, int error, const char *format, ...)
{
	char text[TEXT_BYTES];
	char words[TEXT_BYTES / 2];
	va_list arguments;
	int length;

	if (strerror_r(error, words, sizeof(words)) != 0)
		snprintf(words, sizeof(words), "unknown error");
	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0)
		length = 0;
	if (length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, ": %s (errno %d)", words, error);
	return throw_io_exception(env, text);
}

void *require(JNIEnv *env, jlong handle, const char *what)
{
	void *structure = from_handle(handle);

	if (structure == NULL)
		throw_text(env, "0x%llx is not the address of %s", (unsigned long long)handle, what);
	return structure;
}

int make_nonblocking(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL);

	if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
		return errno;
	return 0;
}

int await_readable(int descriptor, int timeout)
{
	struct pollfd request = { .fd = descriptor, .events = POLLIN };
	int ready = poll(&request, 1, timeout);

	if (ready < 0)
		return errno;
	return ready == 0 ? EAGAIN : 0;
}

/* Sizes and offsets. Java reads and writes the structures itself, so compilation must fail if a layout differs. */

#define AT(type, field, offset) _Static_assert(offsetof(struct type, field) == (offset), #type "." #field)

_Static_assert(sizeof(struct sockaddr_in) == 16, "sockaddr_in");
AT(sockaddr_in, sin_family, 0);
AT(sockaddr_in, sin_port, 2);
AT(sockaddr_in, sin_addr, 4);

_Static_assert(sizeof(struct ibv_sge) == 16, "ibv_sge");
AT(ibv_sge, addr, 0);
AT(ibv_sge, length, 8);
AT(ibv_sge, lkey, 12);

_Static_assert(sizeof(struct ibv_send_wr) == 128, "ibv_send_wr");
AT(ibv_send_wr, wr_id, 0);
AT(ibv_send_wr, next, 8);
AT(ibv_send_wr, sg_list, 16);
AT(ibv_send_wr, num_sge, 24);
AT(ibv_send_wr, opcode, 28);
AT(ibv_send_wr, send_flags, 32);
AT(ibv_send_wr, imm_data, 36);
AT(ibv_send_wr, wr.rdma.remote_addr, 40);
AT(ibv_send_wr, wr.rdma.rkey, 48);
AT(ibv_send_wr, wr.atomic.remote_addr, 40);
AT(ibv_send_wr, wr.atomic.compare_add, 48);
AT(ibv_send_wr, wr.atomic.swap, 56);
AT(ibv_send_wr, wr.atomic.rkey, 64);

_Static_assert(sizeof(struct ibv_recv_wr) == 32, "ibv_recv_wr");
AT(ibv_recv_wr, wr_id, 0);
AT(ibv_recv_wr, next, 8);
AT(ibv_recv_wr, sg_list, 16);
AT(ibv_recv_wr, num_sge, 24);

_Static_assert(sizeof(struct ibv_wc) == 48, "ibv_wc");
AT(ibv_wc, wr_id, 0);
AT(ibv_wc, status, 8);
AT(ibv_wc, opcode, 12);
AT(ibv_wc, vendor_err, 16);
AT(ibv_wc, byte_len, 20);
AT(ibv_wc, imm_data, 24);
AT(ibv_wc, qp_num, 28);
AT(ibv_wc, src_qp, 32);
AT(ibv_wc, wc_flags, 36);
AT(ibv_wc, pkey_index, 40);
AT(ibv_wc, slid, 42);
AT(ibv_wc, sl, 44);
AT(ibv_wc, dlid_path_bits, 45);

#define NUMBER(name, value)                     \
	NATIVE(jint, name)(JNIEnv * env, jobject self) \
	{                                       \
		(void)env;                      \
		(void)self;                     \
		return (jint)(value);           \
	}

NUMBER(getVersion, DISNI_NATIVE_VERSION)
NUMBER(getSockAddrInSize, sizeof(struct sockaddr_in))
NUMBER(getIbvRecvWRSize, sizeof(struct ibv_recv_wr))
NUMBER(getIbvSendWRSize, sizeof(struct ibv_send_wr))
NUMBER(getIbvSgeSize, sizeof(struct ibv_sge))
NUMBER(getIbvWCSize, sizeof(struct ibv_wc))
NUMBER(getRemoteAddressOffset, offsetof(struct ibv_send_wr, wr.rdma.remote_addr))
NUMBER(getRKeyOffset, offsetof(struct ibv_send_wr, wr.rdma.rkey))
