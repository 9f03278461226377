package dev.lite.simulate.agent;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.FieldModel;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites a class:
 *
 * <ul>
 *   <li>of the tier and of the libraries below it: the clock, spinning, sleeps on a lock's word, random numbers and kinds of
 *       threads come from the simulation, and around each access to shared state there is a yield point;
 *   <li>of {@code java.util.concurrent}: the clock;
 *   <li>of the JDK's threads: every new one is simulated, and monitors tell when the JVM hands a thread back;
 *   <li>of immutable sets and maps: the order in which they are walked through.
 * </ul>
 */
final class Rewriter {
    private static final ClassDesc HOOK = ClassDesc.of("dev.lite.simulate.hook.Hook");
    private static final ClassDesc FUTEX_WAIT = ClassDesc.of("dev.lite.os.Futex$Wait");
    private static final MethodTypeDesc NOTHING = MethodTypeDesc.ofDescriptor("()V");
    private static final MethodTypeDesc LONG = MethodTypeDesc.ofDescriptor("()J");
    private static final MethodTypeDesc NEW_THREAD =
            MethodTypeDesc.ofDescriptor("(Ljava/lang/String;Ljava/lang/Runnable;)Ljava/lang/Thread;");
    private static final Set<String> RANDOMS =
            Set.of("java/security/SecureRandom", "java/util/concurrent/ThreadLocalRandom", "java/util/Random");
    private static final Set<String> RANDOM_CALLS = Set.of("nextLong()J", "nextLong(J)J", "nextInt(I)I");

    /** By reading class files: the default resolver loads classes, also the one that is just being defined. */
    private final ClassFile classFile = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(
            ClassHierarchyResolver.ofResourceParsing(ClassLoader.getSystemClassLoader())
                    .cached()));

    private final Map<String, Set<String>> volatileFields = new ConcurrentHashMap<>();

    static boolean isOfJdk(String name) {
        return name.startsWith("java/util/concurrent/")
                || name.startsWith("java/util/ImmutableCollections$")
                || name.equals("java/lang/Thread")
                || name.equals("java/lang/VirtualThread")
                || name.equals("java/lang/ThreadBuilders")
                || name.startsWith("java/lang/ThreadBuilders$Platform");
    }

    /** What is simulated, in contrast to what simulates: in there no thread is switched. */
    private static boolean isSimulated(String name) {
        if (name.startsWith("dev/lite/simulate/")) {
            return name.startsWith("dev/lite/simulate/toy/");
        }
        return name.startsWith("dev/lite/")
                && !name.startsWith("dev/lite/fabric/simulated/")
                && !name.startsWith("dev/lite/cluster/Simulated");
    }

    /** Returns null when the class stays as it is. */
    byte @Nullable [] rewrite(String name, byte[] bytes) {
        boolean simulated = isSimulated(name);
        if (!simulated && !isOfJdk(name)) {
            return null;
        }
        ClassModel model = classFile.parse(bytes);
        boolean[] changed = new boolean[1];
        ClassTransform transform = (builder, element) -> {
            if (element instanceof MethodModel method && method.code().isPresent()) {
                CodeTransform code = simulated ? ofTier(method, changed) : ofJdk(name, method, changed);
                builder.transformMethod(method, MethodTransform.transformingCode(code));
            } else {
                builder.with(element);
            }
        };
        byte[] rewritten = classFile.transformClass(model, transform);
        return changed[0] ? rewritten : null;
    }

    private CodeTransform ofTier(MethodModel method, boolean[] changed) {
        String name = method.methodName().stringValue();
        if (name.equals("<clinit>")) {
            return around("beginInitializer", "endInitializer", changed);
        }
        CodeTransform body = (builder, element) -> {
            if (redirect(builder, element)) {
                changed[0] = true;
            } else if (isShared(element) && !name.equals("<init>")) {
                changed[0] = true;
                yieldPoint(builder);
                builder.with(element);
                if (!(element instanceof FieldInstruction)) {
                    yieldPoint(builder);
                }
            } else {
                builder.with(element);
            }
        };
        return method.flags().has(AccessFlag.SYNCHRONIZED) ? after("yieldPoint", body, changed) : body;
    }

    private CodeTransform ofJdk(String name, MethodModel method, boolean[] changed) {
        String called = method.methodName().stringValue();
        if (name.startsWith("java/lang/ThreadBuilders$Platform")
                && (called.equals("unstarted") || called.equals("newThread"))) {
            return simulatedThread(
                    builder -> {
                        builder.aload(0);
                        builder.invokevirtual(
                                ClassDesc.ofInternalName(name),
                                "nextThreadName",
                                MethodTypeDesc.ofDescriptor("()Ljava/lang/String;"));
                        builder.aload(1);
                    },
                    "newPlatformThread",
                    changed);
        }
        if (name.equals("java/lang/ThreadBuilders") && called.equals("newVirtualThread")) {
            return simulatedThread(builder -> builder.aload(1).aload(3), "newVirtualThread", changed);
        }
        if (name.equals("java/lang/VirtualThread") && called.equals("compareAndSetOnWaitingList")) {
            return after("beginUnblock", CodeTransform.ACCEPT_ALL, changed);
        }
        boolean unblock = name.equals("java/lang/VirtualThread") && called.equals("unblock");
        return (builder, element) -> {
            if (unblock && element instanceof ReturnInstruction) {
                changed[0] = true;
                builder.invokestatic(HOOK, "endUnblock", NOTHING);
                builder.with(element);
            } else if (isClock(element) || isSalt(element)) {
                changed[0] = true;
                redirectClockOrSalt(builder, element);
            } else {
                builder.with(element);
            }
        };
    }

    private static boolean isClock(CodeElement element) {
        return element instanceof InvokeInstruction call
                && call.opcode() == Opcode.INVOKESTATIC
                && call.owner().asInternalName().equals("java/lang/System")
                && (call.name().equalsString("nanoTime") || call.name().equalsString("currentTimeMillis"));
    }

    private static boolean isSalt(CodeElement element) {
        return element instanceof FieldInstruction field
                && field.opcode() == Opcode.GETSTATIC
                && field.owner().asInternalName().equals("java/util/ImmutableCollections")
                && (field.name().equalsString("SALT32L") || field.name().equalsString("REVERSE"));
    }

    private static void redirectClockOrSalt(CodeBuilder builder, CodeElement element) {
        if (element instanceof InvokeInstruction call) {
            builder.invokestatic(HOOK, call.name().stringValue(), LONG);
        } else if (element instanceof FieldInstruction field && field.name().equalsString("SALT32L")) {
            builder.invokestatic(HOOK, "salt", LONG);
        } else {
            builder.invokestatic(HOOK, "isReverse", MethodTypeDesc.ofDescriptor("()Z"));
        }
    }

    /** Puts a call of the hook in the place of a call of the JDK. */
    private static boolean redirect(CodeBuilder builder, CodeElement element) {
        if (isClock(element)) {
            redirectClockOrSalt(builder, element);
            return true;
        }
        if (!(element instanceof InvokeInstruction call)) {
            return false;
        }
        String owner = call.owner().asInternalName();
        String name = call.name().stringValue();
        String type = call.type().stringValue();
        if (owner.equals("java/lang/Thread") && name.equals("onSpinWait")) {
            builder.invokestatic(HOOK, name, NOTHING);
        } else if (owner.equals("java/lang/Thread") && (name.equals("isVirtual") || name.equals("threadId"))) {
            builder.invokestatic(
                    HOOK, name, call.typeSymbol().insertParameterTypes(0, ClassDesc.of("java.lang.Thread")));
        } else if (owner.equals("java/util/concurrent/CompletableFuture")
                && name.equals("delayedExecutor")
                && call.typeSymbol().parameterCount() == 3) {
            builder.invokestatic(HOOK, name, call.typeSymbol());
        } else if (owner.equals("dev/lite/os/Futex") && name.equals("awaitBits")) {
            builder.invokestatic(HOOK, "sleepOn", MethodTypeDesc.ofDescriptor("(JIIJ)V"));
            builder.getstatic(FUTEX_WAIT, "WOKEN", FUTEX_WAIT);
        } else if (owner.equals("dev/lite/os/Futex") && name.equals("wakeBits")) {
            builder.invokestatic(HOOK, "wakeSleepers", call.typeSymbol());
        } else if (owner.equals("java/util/UUID") && name.equals("randomUUID")) {
            builder.invokestatic(HOOK, "randomUuid", call.typeSymbol());
        } else if (RANDOMS.contains(owner) && RANDOM_CALLS.contains(name + type)) {
            builder.invokestatic(
                    HOOK, name, call.typeSymbol().insertParameterTypes(0, ClassDesc.of("java.util.Random")));
        } else {
            return false;
        }
        return true;
    }

    /** Whether other threads may see or change what this instruction touches. */
    private boolean isShared(CodeElement element) {
        return switch (element) {
            case MonitorInstruction monitor -> monitor.opcode() == Opcode.MONITORENTER;
            case FieldInstruction field -> isVolatile(field);
            case InvokeInstruction call -> {
                String owner = call.owner().asInternalName();
                yield !call.name().equalsString("<init>")
                        && (owner.equals("java/lang/invoke/VarHandle")
                                || owner.startsWith("java/util/concurrent/atomic/")
                                || owner.startsWith("java/util/concurrent/ConcurrentHashMap")
                                || (owner.startsWith("java/util/concurrent/locks/ReentrantLock")
                                        && call.name().equalsString("lock")));
            }
            default -> false;
        };
    }

    private boolean isVolatile(FieldInstruction field) {
        String owner = field.owner().asInternalName();
        return isSimulated(owner)
                && volatileFields
                        .computeIfAbsent(owner, this::volatileFieldsOf)
                        .contains(field.name().stringValue());
    }

    private Set<String> volatileFieldsOf(String owner) {
        Set<String> names = new HashSet<>();
        try (java.io.InputStream in = ClassLoader.getSystemResourceAsStream(owner + ".class")) {
            if (in != null) {
                for (FieldModel field : classFile.parse(in.readAllBytes()).fields()) {
                    if (field.flags().has(AccessFlag.VOLATILE)) {
                        names.add(field.fieldName().stringValue());
                    }
                }
            }
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException("cannot read the class " + owner, e);
        }
        return names;
    }

    private static void yieldPoint(CodeBuilder builder) {
        builder.invokestatic(HOOK, "yieldPoint", NOTHING);
    }

    /** The body after a call of the hook. */
    private static CodeTransform after(String hook, CodeTransform body, boolean[] changed) {
        return new CodeTransform() {
            @Override
            public void atStart(CodeBuilder builder) {
                changed[0] = true;
                builder.invokestatic(HOOK, hook, NOTHING);
            }

            @Override
            public void accept(CodeBuilder builder, CodeElement element) {
                body.accept(builder, element);
            }
        };
    }

    private static CodeTransform around(String begin, String end, boolean[] changed) {
        return after(
                begin,
                (builder, element) -> {
                    if (element instanceof ReturnInstruction) {
                        builder.invokestatic(HOOK, end, NOTHING);
                    }
                    builder.with(element);
                },
                changed);
    }

    private interface Arguments {
        void load(CodeBuilder builder);
    }

    /** Returns the hook's thread if there is one; otherwise the original method runs. */
    private static CodeTransform simulatedThread(Arguments nameAndTask, String hook, boolean[] changed) {
        return new CodeTransform() {
            @Override
            public void atStart(CodeBuilder builder) {
                changed[0] = true;
                Label none = builder.newLabel();
                nameAndTask.load(builder);
                builder.invokestatic(HOOK, hook, NEW_THREAD);
                builder.dup();
                builder.ifnull(none);
                builder.areturn();
                builder.labelBinding(none);
                builder.pop();
            }

            @Override
            public void accept(CodeBuilder builder, CodeElement element) {
                builder.with(element);
            }
        };
    }
}
