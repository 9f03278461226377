package org.springframework.web.context.request.async;

/** Stands for Spring MVC's class of this name, which no test needs otherwise. */
public class DeferredResult<T> {}
