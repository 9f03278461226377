package dev.lite.boot;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcHandlerException;
import dev.lite.client.fake.FakeRpc;
import java.util.Collections;
import java.util.List;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application with handlers, and a node that calls them. */
abstract class RpcHandlerCases {
    final FakeRpc rpc = new FakeRpc();
    final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    ConfigurationPropertiesAutoConfiguration.class,
                    LiteClientAutoConfiguration.class,
                    LiteRpcAutoConfiguration.class))
            .withBean("fakeRpc", FakeRpc.class, () -> rpc);

    record Order(String article, int count) {}

    record Receipt(String article, long cents, String customer) {}

    static class Shop {
        @LtRpcHandler(value = "order", concurrency = 3)
        Receipt order(Order order, RpcCall call) {
            if (order.count() < 1) {
                throw new RpcHandlerException(1, "count is %d; it must be at least 1".formatted(order.count()));
            }
            if (order.article().isEmpty()) {
                throw new IllegalStateException("not for the caller");
            }
            return new Receipt(order.article(), 250L * order.count(), call.callerPrincipal());
        }

        @LtRpcHandler("shout")
        String shout(String text) {
            return text.toUpperCase(java.util.Locale.ROOT);
        }

        @LtRpcHandler("split")
        List<Order> split(Order order) {
            return Collections.nCopies(order.count(), new Order(order.article(), 1));
        }

        @LtRpcHandler("swap")
        byte[] swap(byte[] bytes) {
            return new byte[] {bytes[1], bytes[0]};
        }

        @LtRpcHandler("forget")
        void forget() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class ShopConfiguration {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    interface Greeting {
        String greet();
    }

    static class Greeter implements Greeting {
        @Override
        @LtRpcHandler("greet")
        public String greet() {
            return "hello";
        }
    }
}
