package dev.lite.boot;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;

/** Attaches to every socket, except to those whose names request a failure. */
public final class FakeAttachProvider implements Lite.AttachProvider {
    @Override
    public Lite attach(AttachOptions options) {
        String socket = options.socket().getFileName().toString();
        if (socket.startsWith("missing")) {
            throw new NodeUnreachableException("nobody listens at " + options.socket());
        }
        if (socket.startsWith("refusing")) {
            throw new SessionLostException("the node refused: unknown token");
        }
        return new FakeLite(options);
    }
}
