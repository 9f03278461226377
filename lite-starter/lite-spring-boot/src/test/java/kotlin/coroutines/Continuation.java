package kotlin.coroutines;

/** Stands for Kotlin's interface of this name, which no test needs otherwise. */
public interface Continuation<T> {}
