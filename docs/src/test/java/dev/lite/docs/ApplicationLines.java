package dev.lite.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LineNumber;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The size of an application in {@code lite-starter/lite-apps}, and how much of it uses LITE (paper §8.5, Figure 20).
 *
 * @param code the lines of its sources without blank lines, comments, imports and braces alone
 * @param calls the lines that call a method of LITE's interface, as the compiled classes have them
 */
record ApplicationLines(int code, int calls) {
    /** The interface of the paper's Table 1. */
    private static final Set<String> INTERFACE = Set.of(
            "dev/lite/api/HeldLock",
            "dev/lite/api/Lite",
            "dev/lite/api/LmrHandle",
            "dev/lite/api/LtBarrier",
            "dev/lite/api/LtLock",
            "dev/lite/api/LtMemory",
            "dev/lite/api/LtRpc",
            "dev/lite/api/LtSync",
            "dev/lite/api/RpcCall",
            "dev/lite/api/RpcClient",
            "dev/lite/api/RpcServer");

    private static final List<Application> APPLICATIONS = List.of(
            new Application("lite-log", "LITE-Log", "log.md", "330", "36"),
            new Application("lite-mr", "LITE-MR", "mapreduce.md", "600", "49"));

    /**
     * A row of the table.
     *
     * @param page below {@code docs}
     */
    private record Application(String module, String name, String page, String paperCode, String paperCalls) {}

    /** @param module its directory */
    static ApplicationLines of(Path module) {
        int code = 0;
        for (Path source : files(module.resolve("src/main/java"), ".java")) {
            code += codeLines(Repository.read(source).lines().toList());
        }
        int calls = 0;
        for (Path compiled : files(module.resolve("target/classes"), ".class")) {
            calls += callingLines(compiled);
        }
        return new ApplicationLines(code, calls);
    }

    private static List<Path> files(Path directory, String ending) {
        try (Stream<Path> paths = Files.walk(directory)) {
            return paths.filter(path -> path.toString().endsWith(ending)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static int codeLines(List<String> lines) {
        int code = 0;
        boolean comment = false;
        for (String line : lines) {
            String text = line.strip();
            comment |= text.startsWith("/*");
            boolean counts = !comment
                    && !text.startsWith("//")
                    && !text.startsWith("import ")
                    && !text.startsWith("package ")
                    && !text.matches("[{}();\\s]*");
            code += counts ? 1 : 0;
            comment &= !text.endsWith("*/");
        }
        return code;
    }

    private static int callingLines(Path compiled) {
        Set<Integer> lines = new HashSet<>();
        try {
            for (MethodModel method : ClassFile.of().parse(compiled).methods()) {
                method.code().ifPresent(body -> addCallingLines(body, lines));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return lines.size();
    }

    private static void addCallingLines(CodeModel body, Set<Integer> lines) {
        int line = 0;
        for (CodeElement element : body) {
            if (element instanceof LineNumber number) {
                line = number.line();
            } else if (element instanceof InvokeInstruction invoke
                    && INTERFACE.contains(invoke.owner().asInternalName())) {
                lines.add(line);
            }
        }
    }

    /** The page with the table. */
    static String markdown() {
        StringBuilder page = new StringBuilder("""
                # Applications on LITE

                How much of an application uses LITE, as in Figure 20 of the paper. The table is made from the sources and the
                compiled classes. Lines of code are without blank lines, comments, imports and lines that have only braces. A
                line uses LITE if it calls a method of the interface: sessions, memory, handles, calls, locks, barriers.

                | application | lines of code | lines that use LITE | paper: lines of code | paper: lines that use LITE |
                |---|---|---|---|---|
                """);
        for (Application application : APPLICATIONS) {
            ApplicationLines lines =
                    of(Repository.ROOT.resolve("lite-starter/lite-apps").resolve(application.module));
            page.append("| [%s](../%s) | %d | %d | %s | %s |%n"
                    .formatted(
                            application.name,
                            application.page,
                            lines.code,
                            lines.calls,
                            application.paperCode,
                            application.paperCalls));
        }
        page.append("""

                Ours also have what the paper's do not need.

                - LITE-Log: consumers that keep their positions, retention, checksums, batches, errors whose outcome is known, and
                  a Spring bean. [Its figures](log.md).
                - LITE-MR: the paper's lines are changes of Phoenix, which has 3,000 of its own. Ours is written anew.
                  [Its figures](mapreduce.md).

                The paper's graph engine and its distributed shared memory (LITE-Graph, LITE-DSM, §8.3 and §8.4) are not implemented.
                """);
        return page.toString();
    }
}
