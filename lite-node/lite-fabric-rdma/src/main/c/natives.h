/*
 * What the parts of libdisni share: the native half of DiSNI 2.0's com.ibm.disni.verbs.impl.NativeDispatcher.
 *
 * Java hands every object over as the address of the C structure, "handle" below. A handle of 0 or one that cannot be an
 * address of such a structure is refused with an error; a handle of something that was destroyed cannot be told from a live
 * one, so Java must not use one: its classes hold an "open" flag for that.
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

/* Every structure that has a handle holds pointers or 64-bit numbers, an event channel only a descriptor: malloc made them all. */
#define HANDLE_ALIGNMENT 8u

/* The structure behind a handle, NULL when it cannot be one. */
static inline void *from_handle(jlong handle)
{
	uintptr_t address = (uintptr_t)handle;

	return address % HANDLE_ALIGNMENT == 0 ? (void *)address : NULL;
}

static inline jlong to_handle(const void *structure)
{
	return (jlong)(uintptr_t)structure;
}

/* Throws an IOException of this text, printf's way, at most 255 bytes. Returns -1. */
jint throw_text(JNIEnv *env, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Throws an IOException: what failed, and the words for error, an errno. Returns -1. */
jint throw_errno(JNIEnv *env, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The structure behind a handle; throws and returns NULL when it cannot be one. */
void *require(JNIEnv *env, jlong handle, const char *what);

/* Makes reads of a descriptor fail with EAGAIN instead of waiting. Returns 0 or an errno. */
int make_nonblocking(int descriptor);

/*
 * Waits until a descriptor can be read, at most timeout milliseconds, negative for without limit. Returns 0, or an errno:
 * EAGAIN when the time is over, EINTR when a signal came.
 */
int await_readable(int descriptor, int timeout);

/* A negative errno of a call that reports with -1 and errno; 0 stays 0. */
static inline jint negative_errno(int result)
{
	return result == 0 ? 0 : -errno;
}

#endif
