package dev.lite.demo.app;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Ends this application when its launcher has ended, for any reason. */
@Component
@ConditionalOnProperty("lite.exit-with-pid")
final class LauncherWatch {

    private static final int STATUS_TERMINATED = 128 + 15;

    LauncherWatch(@Value("${lite.exit-with-pid}") long pid) {
        Thread.ofPlatform().daemon().name("launcher watch").start(() -> {
            ProcessHandle.of(pid).ifPresent(launcher -> launcher.onExit().join());
            Runtime.getRuntime().exit(STATUS_TERMINATED);
        });
    }
}
