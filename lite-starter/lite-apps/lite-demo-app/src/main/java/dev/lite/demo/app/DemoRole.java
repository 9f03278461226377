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

/** What all applications have in common: results, an exit status, and one clear message when something goes wrong. */
abstract class DemoRole implements ApplicationRunner, ExitCodeGenerator {

    /** The work was done, and at least one comparison did not hold. */
    static final int STATUS_DIFFERENT = 3;

    /** How many applications there are; they meet at barriers. */
    static final int PARTIES = Role.values().length;

    /** Where the applications wait for each other. */
    enum Meeting {
        /** The file is stored, and every application serves. */
        STORED,
        /** Its words are counted, and it is compared. */
        COUNTED,
        /** Nobody needs the LMRs any more. */
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

    /** Does the work and notes what it found. */
    abstract void work(Results results) throws IOException;

    final DemoProperties properties() {
        return properties;
    }

    final Lite lite() {
        return lite;
    }

    /** Waits at a barrier for the other applications, which may be busy with this many bytes. */
    final void meet(Meeting meeting, long bytes) {
        lite.sync().barrier(meeting.barrier, PARTIES).await(properties.patience(bytes));
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
            Progress.say("error: %s (%s)".formatted(e.getMessage(), e.getClass().getSimpleName()));
        }
    }

    @Override
    public final int getExitCode() {
        return exitCode;
    }
}
