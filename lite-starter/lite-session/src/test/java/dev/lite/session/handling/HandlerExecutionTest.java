package dev.lite.session.handling;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcHandlerException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HandlerExecutionTest {
    private final List<String> log = new ArrayList<>();
    private final List<String> answers = new ArrayList<>();

    private HandlerExecution execution(RpcHandler handler) {
        return new HandlerExecution("f", handler, (message, failure) -> log.add(message + " / " + failure));
    }

    private final class Call implements RpcCall {
        @Override
        public String callerNode() {
            return "n";
        }

        @Override
        public String callerPrincipal() {
            return "p";
        }

        @Override
        public MemorySegment request() {
            return MemorySegment.ofArray(new byte[] {'x'});
        }

        @Override
        public @Nullable String context() {
            return null;
        }

        @Override
        public void reply(MemorySegment reply) {
            if (reply.byteSize() > 1) {
                throw new LimitExceededException("too long");
            }
            answers.add("reply " + (char) reply.get(ValueLayout.JAVA_BYTE, 0));
        }

        @Override
        public void fail(int handlerCode, String message) {
            answers.add("fail " + handlerCode + " " + message);
        }

        @Override
        public void decline(String message) {
            answers.add("decline " + message);
        }
    }

    @Test
    void theReplyIsSentAndAnInterruptIsNotLeftBehind() {
        execution(call -> {
                    Thread.currentThread().interrupt();
                    return call.request();
                })
                .execute(new Call());
        assertThat(answers).containsExactly("reply x");
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThat(log).isEmpty();
    }

    @Test
    void aHandlerHasTheContextClassLoaderOfItsApplicationAndItsThreadKeepsItsOwn() throws InterruptedException {
        ClassLoader application = Thread.currentThread().getContextClassLoader();
        List<ClassLoader> loaders = new ArrayList<>();
        HandlerExecution execution = execution(call -> {
            loaders.add(Thread.currentThread().getContextClassLoader());
            Thread.currentThread().setContextClassLoader(null);
            return call.request();
        });
        ClassLoader other = new ClassLoader() {};
        Thread thread = new Thread(() -> {
            execution.execute(new Call());
            loaders.add(Thread.currentThread().getContextClassLoader());
        });
        thread.setContextClassLoader(other);
        thread.start();
        thread.join();
        assertThat(loaders).containsExactly(application, other);
    }

    @Test
    void anExceptionForTheCallerReachesItAndIsNotLogged() {
        execution(call -> {
                    throw new RpcHandlerException(7, "sold out", new IllegalStateException("secret"));
                })
                .execute(new Call());
        assertThat(answers).containsExactly("fail 7 sold out");
        assertThat(log).isEmpty();
    }

    @Test
    void otherFailuresAreLoggedAtMostOnceASecondAndStayAtTheServer() {
        HandlerExecution execution = execution(call -> {
            throw new IllegalStateException("secret");
        });
        for (int i = 0; i < 1000; i++) {
            execution.execute(new Call());
        }
        assertThat(answers).hasSize(1000).containsOnly("fail 0 " + HandlerExecution.FAILED);
        assertThat(log).hasSizeBetween(1, 100);
        assertThat(log.getFirst())
                .isEqualTo("The handler of the function \"f\" failed / java.lang.IllegalStateException: secret");
    }

    @Test
    void aReplyThatIsTooLongFailsTheCallWithTheLimitAndIsLogged() {
        execution(call -> MemorySegment.ofArray(new byte[2])).execute(new Call());
        assertThat(answers).containsExactly("fail 0 too long");
        assertThat(log).containsExactly("The reply of the function \"f\" was not sent: too long / null");
    }
}
