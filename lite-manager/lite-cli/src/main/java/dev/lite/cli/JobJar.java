package dev.lite.cli;

import dev.lite.mr.job.Job;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import org.jspecify.annotations.Nullable;

/** A jar with jobs, and their classes. Everything else that they use is in the jar, in this command or in the JDK. */
final class JobJar implements AutoCloseable {
    private static final String ENDING = ".class";
    private static final int CLASSES_MAX = 10_000;

    private final Path file;
    private final URLClassLoader loader;

    private JobJar(Path file, URLClassLoader loader) {
        this.file = file;
        this.loader = loader;
    }

    /** Checks that there is such a file, before anything else is done. */
    static void check(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new IllegalArgumentException("JAR is %s; there is no such file".formatted(file));
        }
    }

    /**
     * Opens a jar; the caller closes it after the jobs have ended.
     *
     * @throws IOException if it cannot be read
     */
    static JobJar open(Path file) throws IOException {
        URL[] path = {file.toAbsolutePath().toUri().toURL()};
        return new JobJar(file, new URLClassLoader("job", path, JobJar.class.getClassLoader()));
    }

    ClassLoader loader() {
        return loader;
    }

    /**
     * Finds a job.
     *
     * @param name of its class; null for the only one in the jar
     * @throws CommandFailedException if there is no such job, or it is not the only one
     */
    Class<? extends Job> job(@Nullable String name) throws IOException {
        if (name == null) {
            return onlyJob();
        }
        try {
            Class<?> found = Class.forName(name, false, loader);
            if (Job.class.isAssignableFrom(found)) {
                return found.asSubclass(Job.class);
            }
            throw failed("%s in %s is no job: it does not extend %s".formatted(name, file, Job.class.getName()), null);
        } catch (ClassNotFoundException e) {
            throw failed("%s has no class %s".formatted(file, name), e);
        } catch (LinkageError e) {
            throw failed("cannot load %s of %s: %s".formatted(name, file, e), e);
        }
    }

    private Class<? extends Job> onlyJob() throws IOException {
        List<Class<? extends Job>> jobs = new ArrayList<>();
        for (String name : classes()) {
            try {
                Class<?> found = Class.forName(name, false, loader);
                if (Job.class.isAssignableFrom(found)
                        && Modifier.isPublic(found.getModifiers())
                        && !Modifier.isAbstract(found.getModifiers())) {
                    jobs.add(found.asSubclass(Job.class));
                }
            } catch (ClassNotFoundException | LinkageError e) {
                // It uses a class that is not there, so it is not the job.
            }
        }
        if (jobs.size() != 1) {
            throw failed(
                    jobs.isEmpty()
                            ? "%s has no job: no public class extends %s".formatted(file, Job.class.getName())
                            : "%s has several jobs; choose one with --job: %s"
                                    .formatted(
                                            file,
                                            jobs.stream()
                                                    .map(Class::getName)
                                                    .sorted()
                                                    .toList()),
                    null);
        }
        return jobs.getFirst();
    }

    private List<String> classes() throws IOException {
        try (JarFile jar = new JarFile(file.toFile())) {
            List<String> names = jar.stream()
                    .map(entry -> entry.getName())
                    .filter(name ->
                            name.endsWith(ENDING) && !name.startsWith("META-INF/") && !name.endsWith("-info" + ENDING))
                    .map(name ->
                            name.substring(0, name.length() - ENDING.length()).replace('/', '.'))
                    .toList();
            if (names.size() > CLASSES_MAX) {
                throw failed(
                        "%s has %d classes, more than %d; name the job with --job"
                                .formatted(file, names.size(), CLASSES_MAX),
                        null);
            }
            return names;
        } catch (IOException e) {
            throw new IOException("cannot read %s: %s".formatted(file, IoReasons.of(e)), e);
        }
    }

    private static CommandFailedException failed(String message, @Nullable Throwable cause) {
        return cause == null
                ? new CommandFailedException(ExitStatus.FAILED, message)
                : new CommandFailedException(ExitStatus.FAILED, message, cause);
    }

    @Override
    public void close() throws IOException {
        loader.close();
    }
}
