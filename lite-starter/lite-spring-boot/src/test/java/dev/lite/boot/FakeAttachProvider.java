package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;
import java.util.concurrent.atomic.AtomicInteger;

/** Attaches to every socket, except to those whose names request a failure. A "late-…" one is there at the third attempt. */
public final class FakeAttachProvider implements Lite.AttachProvider {
    private static final AtomicInteger late = new AtomicInteger();

    @Override
    public Lite attach(AttachOptions options) {
        String socket = options.socket().getFileName().toString();
        if (socket.startsWith("missing")) {
            throw new NodeUnreachableException("nobody listens at " + options.socket());
        }
        if (socket.startsWith("refusing")) {
            throw new SessionLostException("the node refused: unknown token");
        }
        if (socket.startsWith("late") && late.incrementAndGet() % 3 != 0) {
            throw new NodeUnreachableException("nobody listens yet at " + options.socket());
        }
        return new FakeLite(options);
    }
}
