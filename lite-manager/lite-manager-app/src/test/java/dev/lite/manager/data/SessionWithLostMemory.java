package dev.lite.manager.data;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Optional;
import org.springframework.context.annotation.Primary;

/**
 * A session whose LMRs can be mapped, but a part of them is on a node that is lost. It is no component: a test adds it
 * with {@code spring.main.sources}.
 */
@Primary
public class SessionWithLostMemory extends ManagerSession {
    private static final long BYTES = 1 << 20;

    SessionWithLostMemory() {
        super(new SessionProperties(null, null, Duration.ofSeconds(10)));
    }

    @Override
    public Optional<LtMemory> memory() {
        return Optional.of(fake(LtMemory.class, (memory, method, arguments) -> switch (method.getName()) {
            case "map" -> handle();
            default -> throw new UnsupportedOperationException(method.toString());
        }));
    }

    private static LmrHandle handle() {
        return fake(LmrHandle.class, (handle, method, arguments) -> switch (method.getName()) {
            case "size" -> BYTES;
            case "close" -> null;
            case "read" -> throw new LmrUnavailableException("a node is lost");
            default -> throw new UnsupportedOperationException(method.toString());
        });
    }

    private static <T> T fake(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
