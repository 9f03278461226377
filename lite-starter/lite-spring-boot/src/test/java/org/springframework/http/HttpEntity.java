package org.springframework.http;

import org.jspecify.annotations.Nullable;

/** Stands for Spring's class of this name, which no test needs otherwise. */
public class HttpEntity<T> {
    private final @Nullable T body;

    public HttpEntity() {
        this(null);
    }

    public HttpEntity(@Nullable T body) {
        this.body = body;
    }

    public @Nullable T getBody() {
        return body;
    }
}
