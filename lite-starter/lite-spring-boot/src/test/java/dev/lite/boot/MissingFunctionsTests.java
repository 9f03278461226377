package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LtRpc;
import dev.lite.boot.RpcHandlerCases.Greeter;
import dev.lite.boot.client.ImportLtRpcClients;
import dev.lite.boot.client.LtRpcClient;
import dev.lite.client.fake.FakeLite;
import dev.lite.client.fake.FakeRpc;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;

/** Methods with {@link LtRpcHandler} in applications that cannot serve them. */
@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class MissingFunctionsTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteRpcAutoConfiguration.class));
    private final ApplicationContextRunner severalSessions = runner.withBean(
                    "one", Lite.class, MissingFunctionsTests::session)
            .withBean("two", Lite.class, MissingFunctionsTests::session);

    private static FakeLite session() {
        return new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"));
    }

    private static void assertMissing(AssertableApplicationContext context, String remedy) {
        assertThat(context)
                .getFailure()
                .hasStackTraceContaining("@LtRpcHandler of public java.lang.String " + Greeter.class.getName()
                        + ".greet(): there is no LtRpc bean, so the method would not be served; " + remedy);
    }

    @Test
    void withoutLtRpcAHandlerMethodFailsTheStart() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteRpcAutoConfiguration.class))
                .withBean(Greeter.class)
                .run(context -> assertMissing(
                        context,
                        "define a session, or set lite.client.enabled=false to start without serving such methods"));
    }

    /** Then there is no LtRpc, as it is not known of which session. */
    @Test
    void withSeveralSessionsAndNoPrimaryOneAHandlerMethodFailsTheStart() {
        severalSessions
                .withBean(Greeter.class)
                .run(context -> assertMissing(
                        context,
                        "there are several Lite beans (one, two): make one of them primary, or define an LtRpc"));
    }

    /** Nobody else asks for the bean. */
    @Test
    void withoutLtRpcAHandlerMethodFailsTheStartAlsoWithLazyInitialization() {
        severalSessions
                .withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .withBean(Greeter.class)
                .run(context -> assertMissing(context, "there are several Lite beans (one, two)"));
    }

    /** Such as of an embedded node. */
    @Test
    void withASessionThatTheStarterDoesNotUseAHandlerMethodFailsTheStart() {
        runner.withBean("mine", Lite.class, MissingFunctionsTests::session)
                .withBean(Greeter.class)
                .withPropertyValues("lite.client.enabled=false")
                .run(context -> assertMissing(
                        context, "define one from the Lite bean \"mine\", or do not set lite.client.enabled=false"));
    }

    @Test
    void aWarningSaysThatHandlerMethodsAreNotServedWhereLiteIsSwitchedOff(CapturedOutput output) {
        runner.withPropertyValues("lite.client.enabled=false")
                .withBean(Greeter.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(output)
                .containsOnlyOnce("are not served")
                .contains("The methods with @LtRpcHandler of " + Greeter.class.getName()
                        + " are not served, because lite.client.enabled is false");
    }

    /** As {@code @MockitoBean} does. */
    @Test
    void aWarningSaysThatHandlerMethodsAreNotServedWhereATestReplacesTheSession(CapturedOutput output) {
        BeanFactoryPostProcessor replacing = beans -> {
            FakeLite lite = session();
            beans.registerSingleton("lite", lite);
            beans.registerSingleton("ltRpc", lite.rpc());
        };
        runner.withPropertyValues("lite.client.enabled=false")
                .withBean(BeanFactoryPostProcessor.class, () -> replacing)
                .withBean(Greeter.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(output)
                .contains("because the LtRpc bean was not there when LITE's auto-configuration was processed");
    }

    /** As that of {@code @MockitoBean}, where the session is not switched off. */
    @Test
    void anLtRpcThatReturnsNoServerCausesNoErrorAtTheEnd(CapturedOutput output) {
        LtRpc mock = (LtRpc) Proxy.newProxyInstance(
                LtRpc.class.getClassLoader(), new Class<?>[] {LtRpc.class}, (proxy, method, arguments) -> null);
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteRpcAutoConfiguration.class))
                .withBean(LtRpc.class, () -> mock)
                .withBean(Greeter.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(output).doesNotContain("lite-rpc-stop").doesNotContain("NullPointerException");
    }

    @LtRpcClient
    interface SharedGreeting {
        @LtRpcHandler("greet")
        String greet();
    }

    @Configuration(proxyBeanMethods = false)
    @ImportLtRpcClients(SharedGreeting.class)
    static class GreetingClient {}

    /** It may have its server's annotations. */
    @Test
    void withoutLtRpcAClientInterfaceDoesNotFailTheStart() {
        LtRpc elsewhere = new FakeRpc();
        severalSessions
                .withBean(
                        LtRpcTemplate.class,
                        () -> new LtRpcTemplate(
                                elsewhere, new RpcBodies(null), Duration.ofSeconds(10), CallObserver.NONE))
                .withUserConfiguration(GreetingClient.class)
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(SharedGreeting.class));
    }

    @Test
    void withoutLtRpcAnApplicationWithoutHandlerMethodsStarts() {
        severalSessions
                .withBean(Object.class)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LtRpcTemplate.class));
    }
}
