package dev.lite.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Runs commands as a user types them, against a fake manager, and keeps what they print. */
abstract class AgainstFakeManager {
    final StringWriter out = new StringWriter();
    final StringWriter err = new StringWriter();
    FakeManager manager;

    @TempDir
    Path directory;

    @BeforeEach
    void start() throws IOException {
        manager = new FakeManager();
    }

    @AfterEach
    void stop() {
        manager.close();
    }

    final int lite(String... arguments) {
        return LiteMain.commandLine(new PrintWriter(out, true), new PrintWriter(err, true))
                .execute(arguments);
    }

    final int ask(String... arguments) {
        String[] all = Arrays.copyOf(arguments, arguments.length + 2);
        all[arguments.length] = "--manager";
        all[arguments.length + 1] = manager.url();
        return lite(all);
    }
}
