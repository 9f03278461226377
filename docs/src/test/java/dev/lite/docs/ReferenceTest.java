package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrLongs;
import dev.lite.api.LmrStructs;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pages of the reference name what exists, and all of it. */
class ReferenceTest {
    private static final List<Class<?>> INTERFACES = List.of(
            Lite.class,
            LtMemory.class,
            LmrHandle.class,
            LmrLongs.class,
            LmrStructs.class,
            LtRpc.class,
            RpcClient.class,
            RpcServer.class,
            RpcCall.class,
            LtSync.class,
            LtLock.class,
            HeldLock.class,
            LtBarrier.class);

    /** The interfaces whose every method is in the table. */
    private static final List<Class<?>> COMPLETE = List.of(LtMemory.class, LtRpc.class, LtSync.class);

    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final Pattern METHOD = Pattern.compile("(?:^|\\.)([a-z]\\w*)(?:\\(|$)");

    private static String page(String name) {
        return Repository.read(Repository.ROOT.resolve("docs/reference").resolve(name));
    }

    private static Set<String> methodsOf(List<Class<?>> types) {
        return types.stream()
                .flatMap(type -> Stream.of(type.getMethods()))
                .filter(method -> !Modifier.isStatic(method.getModifiers())
                        || method.getName().equals("attach")
                        || method.getName().equals("of"))
                .map(Method::getName)
                .collect(Collectors.toSet());
    }

    /** The methods in the second column of the tables. */
    private static List<String> methodsOfThePage() {
        List<String> methods = new ArrayList<>();
        for (String line :
                page("api.md").lines().filter(row -> row.startsWith("|")).toList()) {
            Matcher code = CODE.matcher(line.split("\\|", -1)[2]);
            while (code.find()) {
                Matcher method = METHOD.matcher(code.group(1));
                while (method.find()) {
                    methods.add(method.group(1));
                }
            }
        }
        return methods;
    }

    @Test
    void theInterfacePageNamesOnlyMethodsThatExist() {
        assertThat(methodsOfThePage())
                .hasSizeGreaterThan(30)
                .allSatisfy(name -> assertThat(name).isIn(concat(methodsOf(INTERFACES), "withContext")));
    }

    private static Set<String> concat(Set<String> names, String more) {
        return Stream.concat(names.stream(), Stream.of(more)).collect(Collectors.toSet());
    }

    @Test
    void theInterfacePageNamesEveryMethodOfTheBeans() {
        assertThat(methodsOfThePage()).containsAll(methodsOf(COMPLETE));
    }

    @Test
    void theExceptionsPageNamesEveryExceptionAndEveryStatusOfACall() {
        String page = page("exceptions.md");
        assertThat(LiteException.class.getPermittedSubclasses())
                .allSatisfy(exception -> assertThat(page).contains("| `" + exception.getSimpleName() + "` |"));
        assertThat(RpcStatus.values()).allSatisfy(status -> assertThat(page).contains("| `" + status + "` |"));
    }
}
