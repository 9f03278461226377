/*
 * Shared declarations of libdisni, the native half of DiSNI 2.0's com.ibm.disni.verbs.impl.NativeDispatcher.
 *
 * Java passes every object as a handle: the address of the C structure. A handle that is 0 or cannot be such an address is
 * refused with an error. The handle of a destroyed object cannot be detected, so Java must not pass one; its classes have an
 * "open" flag for that purpose.
 *
 * Threads. Any, as with rdma-core. But no thread may use an object, or take its events, while another thread destroys it.
 *
 * Errors. A method that declares IOException throws it and returns -1 (or nothing). One that does not returns a negative errno.
 */
#ifndef LITE_DISNI_NATIVES_H
#define LITE_DISNI_NATIVES_H

#include <errno.h>
#include <jni.h>
#include <stddef.h>
#include <stdint.h>

/* The JNI name of the method _NAME: JNI writes the underscore as _1. */
#define NATIVE(type, name) JNIEXPORT type JNICALL Java_com_ibm_disni_verbs_impl_NativeDispatcher__1##name

/* Alignment of all structures with handles. malloc allocates them all, even the event channel, which has only a descriptor. */
#define HANDLE_ALIGNMENT 8u

/* Returns the structure of a handle, or NULL if the handle cannot be valid. */
static inline void *from_handle(jlong handle)
{
	uintptr_t address = (uintptr_t)handle;

	return address % HANDLE_ALIGNMENT == 0 ? (void *)address : NULL;
}

static inline jlong to_handle(const void *structure)
{
	return (jlong)(uintptr_t)structure;
}

/* Throws an IOException with this text, formatted like printf, at most 255 bytes. Returns -1. */
jint throw_text(JNIEnv *env, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Throws an IOException with this text and the description of the errno. Returns -1. */
jint throw_errno(JNIEnv *env, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns the structure of a handle; throws and returns NULL if the handle cannot be valid. */
void *require(JNIEnv *env, jlong handle, const char *what);

/* Makes a descriptor non-blocking: reads fail with EAGAIN instead of waiting. Returns 0 or an errno. */
int make_nonblocking(int descriptor);

/*
 * Waits until a descriptor is readable, for at most timeout milliseconds; without limit if negative. Returns 0 or an errno:
 * EAGAIN at the timeout, EINTR if a signal interrupted the wait.
 */
int await_readable(int descriptor, int timeout);

/* Converts the result of a call that returns -1 and sets errno: returns the negative errno, or 0 for success. */
static inline jint negative_errno(int result)
{
	return result == 0 ? 0 : -errno;
}

#endif
