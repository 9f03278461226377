import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.lite.api.*;
import dev.lite.docs.Examples;
import dev.lite.embedded.EmbeddedCluster;
import dev.lite.test.LiteTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
class DemoApplication {
    // BLOCK OF FirstRead
}

// BLOCK

public class Context {
    public static void run(EmbeddedCluster unused) {
        Examples.runTest(DemoApplicationTests.class);
    }
}
