package dev.lite.launch;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;

/**
 * Starts the application named in the resource {@value #APPLICATION} if this Java version can run it. Without this check an
 * older Java would only report a wrong class file version.
 */
public final class RequireJava {
    private static final String APPLICATION = "META-INF/lite/application";
    private static final int FEATURE_MIN = 25;

    private RequireJava() {}

    /** Passes the arguments to the application. Exit status 1 when this Java is too old. */
    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        if (Runtime.version().feature() < FEATURE_MIN) {
            System.err.printf(
                    "LITE needs Java %d or newer; this is Java %s at %s.%n",
                    FEATURE_MIN, Runtime.version(), System.getProperty("java.home"));
            System.exit(1);
        }
        String name;
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        try (InputStream in = loader.getResourceAsStream(APPLICATION)) {
            if (in == null) {
                throw new IllegalStateException("the jar has no " + APPLICATION);
            }
            name = new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
        }
        try {
            Class.forName(name, true, loader).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }
}
