package dev.lite.manager;

import dev.lite.cluster.process.ExitMessage;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplicationRunListener;
import org.springframework.boot.bootstrap.ConfigurableBootstrapContext;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.ConfigurableEnvironment;

/** Writes why the manager cannot start to the file of lite.exit-message-file. Runs first, so it knows of files that cannot be read. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class FailedStart implements SpringApplicationRunListener {
    private @Nullable ConfigurableEnvironment environment;

    @Override
    public void environmentPrepared(
            ConfigurableBootstrapContext bootstrap, ConfigurableEnvironment preparedEnvironment) {
        environment = preparedEnvironment;
    }

    @Override
    public void failed(@Nullable ConfigurableApplicationContext context, Throwable failure) {
        String file = environment == null ? null : environment.getProperty("lite.exit-message-file");
        if (file != null) {
            ExitMessage.write(Path.of(file), message(failure));
        }
    }

    private static String message(Throwable failure) {
        FailureAnalysis analysis = new StartFailureAnalyzer().analyze(failure);
        if (analysis != null) {
            return analysis.getDescription() + "\n" + analysis.getAction();
        }
        String binding = "";
        Throwable root = failure;
        while (root.getCause() != null && !(root instanceof PortInUseException)) {
            if (root instanceof BindException) {
                binding = root.getMessage() + ": ";
            }
            root = root.getCause();
        }
        return binding + (root.getMessage() == null ? root.toString() : root.getMessage());
    }
}
