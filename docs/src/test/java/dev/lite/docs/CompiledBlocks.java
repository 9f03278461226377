package dev.lite.docs;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * Java blocks, each compiled within its context and in a package of its own, all at once. A context is a file of src/test/contexts: the
 * block replaces the line {@code // BLOCK}, and the line {@code // BLOCK OF NAME} is replaced by the block whose context is NAME.
 */
final class CompiledBlocks implements AutoCloseable {
    private static final Path CONTEXTS = Repository.ROOT.resolve("docs/src/test/contexts");
    private static final String DEFAULT_CONTEXT = "Statements";
    private static final String MARK = "// BLOCK";

    private final Map<String, String> errors = new LinkedHashMap<>();
    private final List<CodeBlock> blocks;
    private final URLClassLoader classes;

    private CompiledBlocks(List<CodeBlock> blocks, URLClassLoader classes) {
        this.blocks = blocks;
        this.classes = classes;
    }

    /** Compiles blocks to a directory. Errors are kept for {@link #context}. */
    static CompiledBlocks compile(List<CodeBlock> blocks, Path directory) throws IOException {
        CompiledBlocks compiled = new CompiledBlocks(
                blocks,
                new URLClassLoader(new URL[] {directory.toUri().toURL()}, CompiledBlocks.class.getClassLoader()));
        List<JavaFileObject> sources = new ArrayList<>();
        for (CodeBlock block : blocks) {
            sources.add(new Source(compiled.packageOf(block), compiled.source(block)));
        }
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "the tests need a JDK");
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        compiler.getTask(
                        null,
                        null,
                        diagnostics,
                        List.of(
                                "-d",
                                directory.toString(),
                                "-classpath",
                                System.getProperty("java.class.path"),
                                "-parameters",
                                "-proc:none"),
                        null,
                        sources)
                .call();
        for (Diagnostic<? extends JavaFileObject> diagnostic : diagnostics.getDiagnostics()) {
            if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                String file = diagnostic.getSource() == null
                        ? ""
                        : diagnostic.getSource().getName();
                compiled.errors.merge(file, diagnostic.toString(), (first, second) -> first + "\n" + second);
            }
        }
        return compiled;
    }

    /** The classes of the blocks. */
    ClassLoader classLoader() {
        return classes;
    }

    /** The package of a block's classes. */
    String packageOf(CodeBlock block) {
        return "docs.block" + blocks.indexOf(block);
    }

    /**
     * The class {@code Context} of a block.
     *
     * @throws AssertionError if the block does not compile
     */
    Class<?> context(CodeBlock block) throws ClassNotFoundException {
        String error = errors.get(new Source(packageOf(block), "").getName());
        if (error != null || (!errors.isEmpty() && !hasClass(block))) {
            throw new AssertionError("%s does not compile%n%s%n%s"
                    .formatted(block.where(), error == null ? "because of " + errors.keySet() : error, block.text()));
        }
        return Class.forName(packageOf(block) + ".Context", true, classes);
    }

    private boolean hasClass(CodeBlock block) {
        return classes.getResource(packageOf(block).replace('.', '/') + "/Context.class") != null;
    }

    /** Calls {@code Context.run} of a block. */
    void run(CodeBlock block, Object argument) throws Throwable {
        Class<?> context = context(block);
        Thread thread = Thread.currentThread();
        ClassLoader former = thread.getContextClassLoader();
        thread.setContextClassLoader(classes);
        try {
            context.getMethod("run", argument.getClass()).invoke(null, argument);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        } finally {
            thread.setContextClassLoader(former);
        }
    }

    private String source(CodeBlock block) {
        String name = block.context() == null ? DEFAULT_CONTEXT : block.context();
        StringBuilder source = new StringBuilder("package " + packageOf(block) + ";\n");
        boolean hasMark = false;
        for (String line :
                Repository.read(CONTEXTS.resolve(name + ".java")).lines().toList()) {
            String stripped = line.strip();
            if (stripped.equals(MARK)) {
                hasMark = true;
                source.append(block.text());
            } else if (stripped.startsWith(MARK)) {
                source.append(
                        blockOf(stripped.substring((MARK + " OF ").length())).text());
            } else {
                source.append(line).append('\n');
            }
        }
        if (!hasMark) {
            throw new AssertionError("the context %s has no line %s".formatted(name, MARK));
        }
        return source.toString();
    }

    /** The only block with this context. */
    CodeBlock blockOf(String context) {
        @Nullable CodeBlock found = null;
        for (CodeBlock block : blocks) {
            if (context.equals(block.context())) {
                if (found != null) {
                    throw new AssertionError(
                            "%s and %s have the context %s".formatted(found.where(), block.where(), context));
                }
                found = block;
            }
        }
        if (found == null) {
            throw new AssertionError("no block has the context " + context);
        }
        return found;
    }

    @Override
    public void close() throws IOException {
        classes.close();
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String packageName, String text) {
            super(URI.create("string:///" + packageName.replace('.', '/') + "/Context.java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}
