package dev.lite.demo.app;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.demo.app.DemoProperties.Role;
import java.io.IOException;
import java.util.Locale;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.ExitCodeGenerator;

/** The common part of all applications: results, exit status, and one clear message on failure. */
abstract class DemoRole implements ApplicationRunner, ExitCodeGenerator {

    /** The exit status when the work is done, but at least one comparison failed. */
    static final int STATUS_DIFFERENT = 3;

    /** The number of applications, which meet at barriers. */
    static final int PARTIES = Role.values().length;

    /** The points where the applications wait for each other. */
    enum Meeting {
        /** The file is stored, and every application serves its function. */
        STORED,
        /** The words are counted, and the file is compared. */
        COUNTED,
        /** No application needs the LMRs any more. */
        DONE;

        private final String barrier = "demo/" + name().toLowerCase(Locale.ROOT);
    }

    private final DemoProperties properties;
    private final Lite lite;
    private int exitCode = 1;

    DemoRole(DemoProperties properties, Lite lite) {
        this.properties = properties;
        this.lite = lite;
    }

    /** Does the work and records the results. */
    abstract void work(Results results) throws IOException;

    final DemoProperties properties() {
        return properties;
    }

    final Lite lite() {
        return lite;
    }

    /** Waits at a barrier for the other applications, which may be processing this many bytes. */
    final void meet(Meeting meeting, long bytes) {
        lite.sync().barrier(meeting.barrier, PARTIES).await(properties.timeout(bytes));
    }

    final CountCalls calls(LmrHandle file, Control control) {
        return new CountCalls(lite, file, control, properties.words(), properties.deadline());
    }

    @Override
    public final void run(ApplicationArguments arguments) {
        Results results = new Results();
        try {
            work(results);
            results.write(properties.result());
            exitCode = results.allHeld() ? 0 : STATUS_DIFFERENT;
        } catch (LiteException | DemoException | IOException e) {
            Progress.print(
                    "error: %s (%s)".formatted(e.getMessage(), e.getClass().getSimpleName()));
        }
    }

    @Override
    public final int getExitCode() {
        return exitCode;
    }
}
