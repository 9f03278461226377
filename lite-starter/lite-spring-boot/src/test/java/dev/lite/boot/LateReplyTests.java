package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.RpcFailedException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.Stream;
import kotlin.coroutines.Continuation;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpEntity;
import org.springframework.scheduling.annotation.Async;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** Handlers whose reply would come later are refused: a handler may block. */
class LateReplyTests extends RpcHandlerCases {
    /** The future itself would be the reply. */
    @ParameterizedTest
    @MethodSource("deferred")
    void aHandlerMethodWhoseReplyComesLaterIsReportedAtTheStart(Object bean, Class<?> returned) {
        runner.withBean("deferred", Object.class, () -> bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"later\")")
                        .hasMessageEndingWith("it returns %s; a handler may block, and returns the reply itself"
                                .formatted(returned.getName())));
        assertThat(rpc.handlers).isEmpty();
    }

    static Stream<Arguments> deferred() {
        return Stream.of(
                Arguments.of(new WithFuture(), CompletableFuture.class),
                Arguments.of(new WithStage(), CompletionStage.class),
                Arguments.of(new WithPublisher(), Flow.Publisher.class),
                Arguments.of(new WithCallable(), Callable.class),
                Arguments.of(new WithDeferredResult(), DeferredResult.class),
                Arguments.of(new WithFutureOfParent(), CompletableFuture.class));
    }

    static class Parent<T> {
        @LtRpcHandler("later")
        @Nullable
        T later() {
            return null;
        }
    }

    static class WithFutureOfParent extends Parent<CompletableFuture<String>> {}

    static class WithFuture {
        @LtRpcHandler("later")
        CompletableFuture<String> later() {
            return CompletableFuture.completedFuture("reply");
        }
    }

    static class WithStage {
        @LtRpcHandler("later")
        CompletionStage<String> later() {
            return CompletableFuture.completedStage("reply");
        }
    }

    static class WithPublisher {
        @LtRpcHandler("later")
        Flow.Publisher<String> later() {
            return new SubmissionPublisher<>();
        }
    }

    static class WithCallable {
        @LtRpcHandler("later")
        Callable<String> later() {
            return () -> "reply";
        }
    }

    static class WithDeferredResult {
        @LtRpcHandler("later")
        DeferredResult<String> later() {
            return new DeferredResult<>();
        }
    }

    /** Their types do not show what they return. */
    static class HiddenResults {
        @LtRpcHandler("stream")
        HttpEntity<?> stream() {
            return new HttpEntity<StreamingResponseBody>(new StreamingResponseBody() {});
        }

        @LtRpcHandler("call")
        HttpEntity<Object> call() {
            return new HttpEntity<>((Callable<String>) () -> "reply");
        }

        @LtRpcHandler("defer")
        HttpEntity<?> defer() {
            return new HttpEntity<>(new DeferredResult<String>());
        }

        @LtRpcHandler("publish")
        Object publish() {
            return new SubmissionPublisher<String>();
        }

        @LtRpcHandler("text")
        HttpEntity<?> text() {
            return new HttpEntity<>("reply");
        }
    }

    /** Its JSON would be the reply. */
    @ParameterizedTest
    @CsvSource({"stream, HttpEntity<", "call, HttpEntity<", "defer, HttpEntity<", "publish, SubmissionPublisher;"})
    void aReplyThatWouldComeLaterFailsTheCallAndTheLogSaysWhy(String function, String returned) {
        runner.withBean(HiddenResults.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThatThrownBy(() -> template.call("fake-1", function, null, String.class))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessage("the handler failed; the log of its application has the cause");
            assertThat(rpc.handlerFailures)
                    .singleElement(InstanceOfAssertFactories.THROWABLE)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("@LtRpcHandler(\"%s\") ".formatted(function))
                    .hasMessageContaining(returned)
                    .hasMessageEndingWith("; a handler may block, and returns the reply itself");
            assertThat(template.call("fake-1", "text", null, String.class)).isEqualTo("{\"body\":\"reply\"}");
        });
    }

    /** The caller would have its reply at once. */
    @ParameterizedTest
    @ValueSource(classes = {AsyncMethod.class, AsyncClass.class})
    void aHandlerMethodThatIsAsyncIsReportedAtTheStart(Class<?> bean) {
        runner.withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"later\")")
                        .hasMessageEndingWith(
                                "it is @Async, and its caller would have the reply before its body has run"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void aHandlerThatIsASuspendFunctionOfKotlinIsReportedAtTheStart() {
        runner.withBean(Suspending.class)
                .run(
                        context -> assertThat(context)
                                .getFailure()
                                .rootCause()
                                .hasMessageContaining("@LtRpcHandler(\"later\")")
                                .hasMessageEndingWith(
                                        "it is a suspend function, and its caller would have the reply at its first suspension"));
        assertThat(rpc.handlers).isEmpty();
    }

    /** As Kotlin compiles such a function. */
    static class Suspending {
        @LtRpcHandler("later")
        @Nullable
        Object later(Continuation<? super String> continuation) {
            return null;
        }
    }

    static class AsyncMethod {
        @Async
        @LtRpcHandler("later")
        void later() {}
    }

    @Async
    static class AsyncClass {
        @LtRpcHandler("later")
        void later() {}
    }
}
