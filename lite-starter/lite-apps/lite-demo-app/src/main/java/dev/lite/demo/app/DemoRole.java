package dev.lite.demo.app;

import dev.lite.api.LiteException;
import java.io.IOException;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.ExitCodeGenerator;

/** What both applications have in common: results, an exit status, and one clear message when something goes wrong. */
abstract class DemoRole implements ApplicationRunner, ExitCodeGenerator {

    /** The work was done, and at least one comparison did not hold. */
    static final int STATUS_DIFFERENT = 3;

    private final DemoProperties properties;
    private int exitCode = 1;

    DemoRole(DemoProperties properties) {
        this.properties = properties;
    }

    /** Does the work and notes what it found. */
    abstract void work(Results results) throws IOException;

    final DemoProperties properties() {
        return properties;
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
