package dev.lite.manager.data;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LtMemory;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.stereotype.Component;

/**
 * The manager's session with a node, if one is configured. It attaches at its first use, and again after a restart of the
 * node; so the manager starts without the node. Any thread.
 */
@Component
@EnableConfigurationProperties(SessionProperties.class)
public class ManagerSession implements DisposableBean {
    private final @Nullable Lite lite;

    ManagerSession(SessionProperties properties) {
        Path socket = properties.clientSocket();
        lite = socket == null
                ? null
                : Lite.attach(AttachOptions.to(socket, "lite-manager")
                        .withToken(properties.clientToken())
                        .withDeadline(properties.clientDeadline())
                        .withReattach(true)
                        .withLazy(true));
    }

    /** The memory interface; empty when no session is configured. */
    public Optional<LtMemory> memory() {
        return Optional.ofNullable(lite).map(Lite::memory);
    }

    @Override
    public void destroy() {
        if (lite != null) {
            lite.close();
        }
    }
}
