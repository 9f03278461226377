package org.springframework.web.servlet.mvc.method.annotation;

/** Stands for Spring's class of this name, which no test needs otherwise. */
public interface StreamingResponseBody {}
