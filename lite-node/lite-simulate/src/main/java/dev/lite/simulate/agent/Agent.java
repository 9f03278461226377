package dev.lite.simulate.agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The entry point of the Java agent. Its manifest puts the hook on the boot class path. */
public final class Agent {
    /** Of the JDK, and not loaded before the first use. */
    private static final List<String> EARLY = List.of(
            "java.lang.VirtualThread",
            "java.lang.ThreadBuilders",
            "java.lang.ThreadBuilders$PlatformThreadBuilder",
            "java.lang.ThreadBuilders$PlatformThreadFactory",
            "java.util.concurrent.CompletableFuture");

    private Agent() {}

    /** Called by the JVM before {@code main}. */
    public static void premain(@Nullable String unused, Instrumentation instrumentation)
            throws ClassNotFoundException, UnmodifiableClassException {
        Rewriter rewriter = new Rewriter();
        instrumentation.addTransformer(
                new ClassFileTransformer() {
                    @Override
                    public byte @Nullable [] transform(
                            @Nullable ClassLoader loader,
                            String name,
                            @Nullable Class<?> redefined,
                            @Nullable ProtectionDomain domain,
                            byte[] bytes) {
                        return rewriteOrEnd(rewriter, name, bytes);
                    }
                },
                true);
        for (String name : EARLY) {
            Class.forName(name);
        }
        List<Class<?>> loaded = new ArrayList<>();
        for (Class<?> each : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(each)
                    && Rewriter.isOfJdk(each.getName().replace('.', '/'))) {
                loaded.add(each);
            }
        }
        instrumentation.retransformClasses(loaded.toArray(Class<?>[]::new));
    }

    /** A class that stays as it was would make histories that nobody can repeat. */
    private static byte @Nullable [] rewriteOrEnd(Rewriter rewriter, String name, byte[] bytes) {
        try {
            return rewriter.rewrite(name, bytes);
        } catch (RuntimeException | Error e) {
            System.err.println("the simulation cannot rewrite the class " + name);
            e.printStackTrace();
            Runtime.getRuntime().halt(4);
            return null;
        }
    }
}
