package dev.lite.system;

import dev.lite.tier.node.LiteNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Moves counters of a real node process to just below the place where they end or begin anew: those that the simulation moves, too. The
 * process gets this class by the jar of {@link #jar}, and creates it because of the property {@link #PROPERTY}. So the node itself needs
 * nothing for it.
 */
public final class NearLimits implements BeanPostProcessor {
    /** A property of the node. Its value must be this class's name. */
    static final String PROPERTY = "spring.main.sources";

    /** The ids of a block. The count is in the lowest bits of an LMR's id. */
    static final long IDS_PER_BLOCK = 1L << 30;

    /** The number of ids left in a process's first block after those that it draws first. */
    static final int IDS_LEFT = 64;

    /** The number of ids that a process draws before: those that follow the last ones must not be the same. */
    private static final int IDS_FIRST = 16;

    private static final int GENERATION_MAX = 0xffff;
    private static final long POLL_NS = 200_000;

    /**
     * Writes a jar that starts a node with this class on its class path.
     *
     * @param node the node's executable jar
     */
    static Path jar(Path directory, Path node) throws IOException {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, "dev.lite.launch.RequireJava");
        attributes.put(Attributes.Name.CLASS_PATH, node.toAbsolutePath().toUri().toString());
        String file = NearLimits.class.getName().replace('.', '/') + ".class";
        Path jar = directory.resolve("near-limits.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest);
                InputStream compiled =
                        Objects.requireNonNull(NearLimits.class.getClassLoader().getResourceAsStream(file))) {
            entries.putNextEntry(new JarEntry(file));
            compiled.transferTo(entries);
        }
        return jar;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof LiteNode) {
            try {
                moveGeneration(get(get(bean, "rpc"), "bindings"));
                Object ids = get(get(get(bean, "lmrs"), "records"), "ids");
                AtomicLong used = (AtomicLong) get(get(ids, "block"), "used");
                Thread.ofPlatform().daemon().name("near-limits").start(() -> moveIds(used));
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("the node's counters have changed", e);
            }
        }
        return bean;
    }

    /** The generations of bindings of functions begin anew soon. */
    private static void moveGeneration(Object bindings) throws ReflectiveOperationException {
        field(bindings, "generation").setInt(bindings, GENERATION_MAX - 2);
    }

    /** The process's block of LMR ids ends soon; one that has ended already must not begin again. */
    private static void moveIds(AtomicLong used) {
        while (used.get() < IDS_FIRST) {
            LockSupport.parkNanos(POLL_NS);
        }
        long now = used.updateAndGet(count -> Math.max(count, IDS_PER_BLOCK - IDS_LEFT));
        System.out.println("near limits: " + (IDS_PER_BLOCK - now) + " LMR ids are left in this block");
    }

    private static Object get(Object owner, String name) throws ReflectiveOperationException {
        return Objects.requireNonNull(field(owner, name).get(owner), name);
    }

    private static Field field(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
