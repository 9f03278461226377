package dev.lite.boot.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.client.fake.FakeSync;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.function.Consumer;
import kotlin.coroutines.Continuation;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.test.tools.SourceFile;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.http.HttpEntity;
import org.springframework.scheduling.annotation.Async;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;

/** Methods that cannot run under their locks: the start fails, or the call. */
class RefusedLocksTests {
    private final LockFixture locks = new LockFixture();
    private final FakeSync sync = locks.sync;
    private final ApplicationContextRunner runner = locks.runner;

    static class Misspelt {
        @LiteLock("stock/#{#artcle}")
        void run(String article) {}
    }

    /** Would be one lock for all articles. */
    static class MisspeltWithin {
        @LiteLock("stock/#{'of ' + (#artcle ?: 'all')}")
        void run(String article, int count) {}
    }

    static class WithoutParameters {
        @LiteLock("stock/#{#article}")
        void run() {}
    }

    /** As in the annotations of Spring's cache. */
    static class OutsideOfAnExpression {
        @LiteLock("stock/#article/#{#count}")
        void run(String article, int count) {}
    }

    @Test
    void aVariableThatIsNoParameterFailsTheStart() {
        assertFails(
                Misspelt.class,
                "the name has the variable #artcle, and the method has no such parameter; it has #article");
        assertFails(
                MisspeltWithin.class,
                "the name has the variable #artcle, and the method has no such parameter; it has #article, #count");
        assertFails(
                WithoutParameters.class, "the name has the variable #article, and the method has no such parameter");
        assertFails(OutsideOfAnExpression.class, "the name has #article outside of an expression; write #{#article}");
    }

    @Test
    void anExpressionWhoseParameterHasNoNameFailsTheStartWithTheReason() {
        SourceFile withoutNames = SourceFile.of("""
                package shop;

                public class Unnamed implements java.util.function.Consumer<String> {
                    @Override
                    @dev.lite.boot.lock.LiteLock("stock/#{#article}")
                    public void accept(String article) {}
                }
                """);
        TestCompiler.forSystem().withSources(withoutNames).compile(compiled -> {
            Consumer<String> unnamed = consumer(compiled.getInstance(Object.class, "shop.Unnamed"));
            runner.withBean("unnamed", Consumer.class, () -> unnamed)
                    .withPropertyValues("spring.aop.proxy-target-class=false")
                    .run(
                            context -> assertThat(context)
                                    .getFailure()
                                    .hasStackTraceContaining(
                                            "the name has the variable #article, and the method has no such parameter; the parameters have no names, as the class was compiled without -parameters"));
        });
    }

    @SuppressWarnings("unchecked")
    private static Consumer<String> consumer(Object bean) {
        return (Consumer<String>) bean;
    }

    static class FinalMethod {
        @LiteLock("a")
        final void run() {}
    }

    static class PrivateMethod {
        @LiteLock("a")
        void fine() {
            run();
        }

        @LiteLock("a")
        private void run() {}
    }

    static class LaterMethod {
        @LiteLock("a")
        CompletableFuture<String> run() {
            return CompletableFuture.completedFuture("a");
        }
    }

    static class CallableMethod {
        @LiteLock("a")
        Callable<String> run() {
            return () -> "a";
        }
    }

    static class DeferredMethod {
        @LiteLock("a")
        OwnDeferredResult run() {
            return new OwnDeferredResult();
        }
    }

    /** Like Spring's. */
    static class ResponseEntity<T> extends HttpEntity<T> {
        ResponseEntity() {}

        ResponseEntity(T body) {
            super(body);
        }
    }

    static class StreamingMethod {
        @LiteLock("a")
        ResponseEntity<StreamingResponseBody> run() {
            return new ResponseEntity<>();
        }
    }

    static class PublishingMethod {
        @LiteLock("a")
        HttpEntity<? extends Flow.Publisher<String>> run() {
            return new HttpEntity<Flow.Publisher<String>>();
        }
    }

    static class Download extends ResponseEntity<OwnDeferredResult> {}

    static class DownloadMethod {
        @LiteLock("a")
        Download run() {
            return new Download();
        }
    }

    static class EntityMethod {
        @LiteLock("a")
        ResponseEntity<List<String>> run() {
            return new ResponseEntity<>();
        }

        @LiteLock("a")
        ResponseEntity<?> runToo() {
            return new ResponseEntity<String>();
        }
    }

    /** Their types do not show what they return. */
    static class HiddenResults {
        @LiteLock("a")
        ResponseEntity<?> stream() {
            return new ResponseEntity<StreamingResponseBody>(new StreamingResponseBody() {});
        }

        @LiteLock("a")
        ResponseEntity<Object> call() {
            return new ResponseEntity<>((Callable<String>) () -> "a");
        }

        @LiteLock("a")
        ResponseEntity<?> defer() {
            return new ResponseEntity<>(new OwnDeferredResult());
        }

        @LiteLock("a")
        Object publish() {
            return new SubmissionPublisher<String>();
        }

        @LiteLock("a")
        ResponseEntity<?> text() {
            return new ResponseEntity<>("text");
        }
    }

    @Test
    void aResultWhoseWorkWouldContinueWithoutTheLockFailsTheCall() {
        runner.withBean(HiddenResults.class).run(context -> {
            HiddenResults results = context.getBean(HiddenResults.class);
            String end = ", and the lock is released before that completes";
            assertRefused(results::stream, "stream(): it returned " + ResponseEntity.class.getName() + "<");
            assertRefused(results::call, end);
            assertRefused(results::defer, OwnDeferredResult.class.getName() + ">" + end);
            assertRefused(results::publish, SubmissionPublisher.class.getName() + end);
            assertThat(results.text().getBody()).isEqualTo("text");
            assertThat(sync.held).isEmpty();
        });
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("@LiteLock of ")
                .hasMessageContaining(message);
    }

    static class OwnDeferredResult extends DeferredResult<String> {}

    abstract static class Parent<T> {
        @LiteLock("a")
        T run() {
            return made();
        }

        abstract T made();
    }

    static class LaterMethodOfParent extends Parent<CompletableFuture<String>> {
        @Override
        CompletableFuture<String> made() {
            return CompletableFuture.completedFuture("a");
        }
    }

    static class AsyncMethod {
        @Async
        @LiteLock("a")
        void run() {}
    }

    @Async
    static class AsyncClass {
        @LiteLock("a")
        void run() {}
    }

    static class PartOfAsyncClass extends AsyncClass {}

    /** As Kotlin compiles a suspend function. */
    static class SuspendFunction {
        @LiteLock("a")
        Object run(String article, Continuation<? super String> continuation) {
            return article;
        }
    }

    static class BadName {
        @LiteLock("a/#{")
        void run() {}
    }

    static class BlankName {
        @LiteLock(" ")
        void run() {}
    }

    static class BadDeadline {
        @LiteLock(value = "a", deadline = "soon")
        void run() {}
    }

    static class ZeroDeadline {
        @LiteLock(value = "a", deadline = "0s")
        void run() {}
    }

    static class UnresolvedName {
        @LiteLock("${no.such.property}")
        void run() {}
    }

    @Test
    void aMethodThatCannotBeLockedFailsTheStart() {
        assertFails(FinalMethod.class, "a proxy cannot intercept a private, static or final method");
        assertFails(PrivateMethod.class, "a proxy cannot intercept a private, static or final method");
        assertFails(LaterMethod.class, "the lock would be released before that completes");
        assertFails(LaterMethodOfParent.class, "the lock would be released before that completes");
        assertFails(CallableMethod.class, "the lock would be released before that completes");
        assertFails(DeferredMethod.class, "the lock would be released before that completes");
        assertFails(
                StreamingMethod.class, "StreamingResponseBody>, and the lock would be released before that completes");
        assertFails(PublishingMethod.class, "Publisher>, and the lock would be released before that completes");
        assertFails(DownloadMethod.class, "OwnDeferredResult>, and the lock would be released before that completes");
        assertFails(
                SuspendFunction.class,
                "it is a suspend function, and the lock would be released at its first suspension");
        assertFails(BadName.class, "the name \"a/#{\" is not valid");
        assertFails(BlankName.class, "the name of a lock or barrier is blank");
        assertFails(BadDeadline.class, "the deadline \"soon\" is not a duration such as 2s or 500ms");
        assertFails(ZeroDeadline.class, "the deadline is 0s; it must be positive");
        assertFails(UnresolvedName.class, "Could not resolve placeholder 'no.such.property'");
    }

    @Test
    void anEntityWhoseBodyIsThereMayBeReturned() {
        runner.withBean(EntityMethod.class)
                .run(context ->
                        assertThat(context.getBean(EntityMethod.class).run()).isNotNull());
    }

    /** The lock's advice is outside of that of {@code @Async}: the body would run on another thread, without the lock. */
    @Test
    void aLockedMethodThatIsAsyncFailsTheStart() {
        for (Class<?> bean : List.of(AsyncMethod.class, AsyncClass.class, PartOfAsyncClass.class)) {
            assertFails(bean, "it is @Async, and the lock would be released before its body has run");
        }
    }

    private void assertFails(Class<?> bean, String message) {
        runner.withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@LiteLock(")
                        .hasStackTraceContaining(message));
    }
}
