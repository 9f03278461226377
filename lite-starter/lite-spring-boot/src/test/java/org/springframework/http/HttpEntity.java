package org.springframework.http;

/** Stands for Spring's class of this name, which no test needs otherwise. */
public class HttpEntity<T> {}
