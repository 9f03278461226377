import dev.lite.api.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.EmbeddedCluster;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
class DemoApplication {
    public static void main(String[] args) {
        SpringApplication.run(DemoApplication.class, args);
    }

    // BLOCK
}

public class Context {
    public static void run(EmbeddedCluster cluster) {
        for (long start = 1; start <= 2; start++) {
            try (var context = Examples.start(cluster.attach("demo"), DemoApplication.class)) {
                LmrHandle numbers = context.getBean(LtMemory.class).map("demo/numbers", Permission.READ);
                Examples.check(numbers.getLong(0), start);
            }
        }
    }
}
