package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.ParameterizedTypeReference;

class LiteRpcAutoConfigurationTests extends RpcHandlerCases {
    record Unreadable(int count) {
        @Override
        public int count() {
            throw new IllegalStateException("no count");
        }
    }

    @Test
    void aRequestThatCannotBeConvertedIsAnIllegalArgument() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    () -> template.call("node-1", "order", new Unreadable(1), Receipt.class),
                    () -> template.callAsync("node-1", "order", new Unreadable(1), Receipt.class))) {
                assertThatThrownBy(call)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("Unreadable")
                        .hasMessageContaining("no count");
            }
        });
    }

    @Test
    void aHandlerMethodReceivesAndReturnsRecords() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("fake-1", "order", new Order("tea", 4), Receipt.class))
                    .isEqualTo(new Receipt("tea", 1000, "shop"));
            assertThat(rpc.concurrencies).containsEntry("order", 3).containsEntry("shout", 16);
        });
    }

    abstract static class Articles<T> {
        abstract String article(T ordered);

        @LtRpcHandler("article")
        String articleOf(T ordered) {
            return article(ordered);
        }
    }

    static class OrderedArticles extends Articles<Order> {
        @Override
        String article(Order ordered) {
            return ordered.article();
        }
    }

    @Test
    void aHandlerMethodOfAGenericClassReceivesTheTypeOfItsBean() {
        runner.withBean(OrderedArticles.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("node-1", "article", new Order("tea", 1), String.class))
                    .isEqualTo("tea");
        });
    }

    static class Configured {
        @LtRpcHandler("${shop.name}/name")
        String name() {
            return "acme";
        }
    }

    @Test
    void theNameOfAFunctionMayHavePlaceholders() {
        runner.withBean(Configured.class)
                .withPropertyValues("shop.name=acme")
                .run(context -> assertThat(rpc.handlers).containsOnlyKeys("acme/name"));
        runner.withBean(Configured.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("Could not resolve placeholder 'shop.name'"));
        assertThat(rpc.handlers).isEmpty();
    }

    static class OtherGreeter {
        @LtRpcHandler("greet")
        String welcome() {
            return "welcome";
        }
    }

    /** Each call would go to any of them. */
    @Test
    void twoHandlersOfOneFunctionFailTheStart() {
        runner.withBean(Greeter.class)
                .withBean(OtherGreeter.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("@LtRpcHandler(\"greet\") ")
                        .hasMessageContaining("OtherGreeter.welcome()")
                        .hasMessageContaining("Greeter.greet() serves the function, too"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void bytesAndTextArePassedUnchanged() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("fake-1", "shout", "grüß", String.class)).isEqualTo("GRÜSS");
            assertThat(template.call("fake-1", "swap", new byte[] {1, 2}, byte[].class))
                    .containsExactly(2, 1);
            assertThat(template.call("fake-1", "forget", null, Void.class)).isNull();
        });
    }

    @Test
    void aReplyMayHaveAGenericType() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call(
                            "fake-1", "split", new Order("tea", 2), new ParameterizedTypeReference<List<Order>>() {}))
                    .containsExactly(new Order("tea", 1), new Order("tea", 1));
            assertThat(template.callAsync(
                            "fake-1", "split", new Order("tea", 1), new ParameterizedTypeReference<List<Order>>() {}))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(List.of(new Order("tea", 1)));
        });
    }

    @Test
    void anEmptyReplyIsNoObjectAndTheMessageSaysWhereItComesFrom() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThatThrownBy(() ->
                                context.getBean(LtRpcTemplate.class).call("fake-1", "forget", null, Receipt.class))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContainingAll(
                                Receipt.class.getName(),
                                "0 bytes, which void and null send",
                                "Optional can be missing"));
    }

    static class Receipts {
        @LtRpcHandler("find")
        Optional<Receipt> find(String article) {
            return article.equals("tea") ? Optional.of(new Receipt("tea", 250, "shop")) : Optional.empty();
        }
    }

    @Test
    void aReplyThatIsMissingIsNoObjectAndTheMessageSaysWhereItComesFrom() {
        runner.withBean(Receipts.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.call("fake-1", "find", "tea", Receipt.class))
                    .isEqualTo(new Receipt("tea", 250, "shop"));
            assertThat(template.call(
                            "fake-1", "find", "coffee", new ParameterizedTypeReference<Optional<Receipt>>() {}))
                    .isEmpty();
            assertThatThrownBy(() -> template.call("fake-1", "find", "coffee", Receipt.class))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll(
                            Receipt.class.getName(),
                            "JSON null, which an empty Optional sends",
                            "Optional can be missing");
        });
    }

    static class Wishes {
        @LtRpcHandler("wish")
        String wish(Optional<Order> order) {
            return order.map(Order::article).orElse("nothing");
        }
    }

    @Test
    void bytesThatAreMissingAreAnEmptyOptional() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .withBean(Wishes.class)
                .run(context -> {
                    LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                    assertThat(template.call("fake-1", "wish", new Order("tea", 1), String.class))
                            .isEqualTo("tea");
                    assertThat(template.call("fake-1", "wish", null, String.class))
                            .isEqualTo("nothing");
                    assertThat(template.call(
                                    "fake-1", "forget", null, new ParameterizedTypeReference<Optional<Receipt>>() {}))
                            .isEmpty();
                });
    }

    @Test
    void anAsynchronousCallCompletesWithTheReplyOrTheException() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThat(template.callAsync("fake-1", "order", new Order("tea", 4), Receipt.class))
                    .succeedsWithin(Waits.seconds(20))
                    .isEqualTo(new Receipt("tea", 1000, "shop"));
            assertThat(template.callAsync("fake-1", "forget", null, Void.class))
                    .succeedsWithin(Waits.seconds(20))
                    .isNull();
            assertThat(template.callAsync("fake-1", "order", new Order("tea", 0), Receipt.class))
                    .failsWithin(Waits.seconds(20))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(RpcFailedException.class)
                    .withMessageContaining("count is 0; it must be at least 1");
            assertThat(template.callAsync("fake-1", "shout", "no json", Receipt.class))
                    .failsWithin(Waits.seconds(20))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(IllegalArgumentException.class)
                    .withMessageContaining("7 bytes cannot be read as");
        });
    }

    @Test
    void aCallHasTheConfiguredDeadlineOrItsOwn() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .withPropertyValues("lite.client.deadline=3s")
                .run(context -> {
                    LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                    assertThat(template.deadline()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(template.call("fake-1", "shout", "a", String.class))
                            .isEqualTo("A");
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(template.call("fake-1", "shout", "a", String.class, Duration.ofSeconds(1)))
                            .isEqualTo("A");
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(1));
                    assertThat(template.callAsync("fake-1", "shout", "a", String.class, Duration.ofSeconds(2)))
                            .succeedsWithin(Waits.seconds(20));
                    assertThat(rpc.lastDeadline()).isEqualTo(Duration.ofSeconds(2));
                });
    }

    @Test
    void anApplicationsOwnLtRpcNeedsNoAutoConfiguredSession() {
        runner.withPropertyValues("lite.client.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LtRpcTemplate.class));
    }

    @Test
    void onlyAnExceptionForTheCallerReachesTheCaller() {
        runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
            LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
            assertThatThrownBy(() -> template.call("fake-1", "order", new Order("tea", 0), Receipt.class))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.handlerCode()).isEqualTo(1))
                    .hasMessage("count is 0; it must be at least 1");
            assertThatThrownBy(() -> template.call("fake-1", "order", new Order("", 1), Receipt.class))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.HANDLER_FAILED))
                    .hasMessage("the handler failed; the log of its application has the cause");
            assertThatThrownBy(() -> template.call("fake-1", "order", "no json", Receipt.class))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessage("the request of 7 bytes cannot be converted for the handler; the log of its application"
                            + " has the cause");
        });
    }

    @Test
    void theLogSaysWhyARequestCannotBeConverted() {
        Logger logger = (Logger) LoggerFactory.getLogger(RpcHandlerMethod.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        logger.addAppender(appender);
        try {
            runner.withUserConfiguration(ShopConfiguration.class).run(context -> {
                LtRpcTemplate template = context.getBean(LtRpcTemplate.class);
                assertThatThrownBy(() -> template.call("fake-1", "order", "{\"count\": \"a\\nb\"}", Receipt.class))
                        .isInstanceOf(RpcFailedException.class);
            });
        } finally {
            logger.detachAppender(appender);
        }
        assertThat(appender.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .filteredOn(line -> line.contains("(\"order\")"))
                .singleElement()
                .asString()
                .contains("of \"shop\" at fake-2", Order.class.getName(), "a b", "not a valid `int` value")
                .doesNotContain("\n");
    }

    @Test
    void withoutJacksonOnlyObjectsAreRefused() {
        ApplicationContextRunner bare =
                runner.withClassLoader(new FilteredClassLoader("tools.jackson.databind", "tools.jackson.core"));
        bare.run(context -> assertThat(context).hasNotFailed().hasSingleBean(LtRpcTemplate.class));
        bare.withUserConfiguration(ShopConfiguration.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(")
                        .hasMessageContaining("Jackson is missing"));
        assertThat(rpc.handlers).isEmpty();
    }

    @Test
    void anInvalidHandlerMethodIsReportedAtTheStart() {
        runner.withBean("odd", Odd.class, Odd::new)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("@LtRpcHandler(\"odd\")")
                        .hasMessageContaining("more parameters than a request and an RpcCall"));
    }

    static class Nameless {
        @LtRpcHandler("${shop.function:}")
        String nameless() {
            return "never";
        }
    }

    static class Wide {
        @LtRpcHandler(value = "wide", concurrency = 5000)
        String wide() {
            return "never";
        }
    }

    @Test
    void anInvalidAttributeOfAHandlerIsReportedWithItsMethodAndTheLimit() {
        runner.withBean(Nameless.class)
                .run(
                        context -> assertThat(context)
                                .getFailure()
                                .hasStackTraceContaining(
                                        "@LtRpcHandler(\"${shop.function:}\") java.lang.String "
                                                + Nameless.class.getName()
                                                + ".nameless(): the name \"\" of a function or port has 0 bytes of UTF-8; it must have 1 to 255"));
        runner.withBean(Wide.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("Wide.wide()")
                        .hasMessageEndingWith("its concurrency is 5000, more than 4096"));
        assertThat(rpc.handlers).isEmpty();
    }

    static class Odd {
        @LtRpcHandler("odd")
        @Nullable
        String odd(String one, String two) {
            return one + two;
        }
    }

    /** A prototype may be created for each request. */
    @Test
    void aClassWithoutHandlersIsScannedOnce() {
        runner.withUserConfiguration(ShopConfiguration.class)
                .withBean(StringBuilder.class)
                .run(context -> {
                    Set<?> known =
                            Inside.field(context.getBean(RpcHandlerRegistrar.class), "withoutHandlers", Set.class);
                    assertThat(known.contains(StringBuilder.class)).isTrue();
                    assertThat(known.contains(Shop.class)).isFalse();
                });
    }

    @Test
    void backsOffWithoutLtRpc() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteRpcAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LtRpcTemplate.class));
    }
}
