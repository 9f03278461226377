package dev.lite.process;

import dev.lite.cluster.process.ExitMessage;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplicationRunListener;
import org.springframework.boot.bootstrap.ConfigurableBootstrapContext;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * Writes why a node or a manager cannot start to the file of lite.exit-message-file. Runs first, so it knows of files that cannot be
 * read. Each process registers a class of its own, with its analyzer.
 */
public abstract class FailedStart implements SpringApplicationRunListener {
    private final FailureAnalyzer analyzer;
    private @Nullable ConfigurableEnvironment environment;

    /** @param analyzer explains what it knows; of other failures the file gets the cause */
    protected FailedStart(FailureAnalyzer analyzer) {
        this.analyzer = analyzer;
    }

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

    private String message(Throwable failure) {
        FailureAnalysis analysis = analyzer.analyze(failure);
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
