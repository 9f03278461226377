package dev.lite.manager.data;

import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Optional;
import org.springframework.context.annotation.Primary;

/**
 * A session whose LMRs can be mapped, but a part of them is on a node that is lost; or, for the LMR {@value #AWAY}, on one
 * that cannot be reached. Only the LMR {@value #WHOLE} can be read. No node takes memory for a new one. It is
 * no component: a test adds it with {@code spring.main.sources}.
 */
@Primary
public class SessionWithLostMemory extends ManagerSession {
    /** The name of the LMR whose node cannot be reached. */
    public static final String AWAY = "away";

    /** The name of the LMR that can be read. */
    public static final String WHOLE = "whole";

    /** The size of each LMR. */
    public static final long BYTES = 1 << 20;

    SessionWithLostMemory() {
        super(new SessionProperties(null, null, Duration.ofSeconds(10)));
    }

    @Override
    public Optional<LtMemory> memory() {
        return Optional.of(fake(LtMemory.class, (memory, method, arguments) -> switch (method.getName()) {
            case "map" ->
                arguments[0].equals(WHOLE)
                        ? wholeHandle()
                        : handle(
                                arguments[0].equals(AWAY)
                                        ? new NodeUnreachableException("a node is away")
                                        : new LmrUnavailableException("a node is lost"));
            case "malloc" -> throw new NodeUnreachableException("a node takes no memory");
            default -> throw new UnsupportedOperationException(method.toString());
        }));
    }

    private static LmrHandle handle(LiteException failure) {
        return fake(LmrHandle.class, (handle, method, arguments) -> switch (method.getName()) {
            case "size" -> BYTES;
            case "close" -> null;
            case "read", "write", "free", "grant" -> throw failure;
            default -> throw new UnsupportedOperationException(method.toString());
        });
    }

    private static LmrHandle wholeHandle() {
        return fake(LmrHandle.class, (handle, method, arguments) -> switch (method.getName()) {
            case "size" -> BYTES;
            case "read", "close" -> null;
            default -> throw new UnsupportedOperationException(method.toString());
        });
    }

    private static <T> T fake(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
