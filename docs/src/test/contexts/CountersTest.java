import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.*;
import dev.lite.boot.region.LiteRegion;
import dev.lite.docs.Examples;
import dev.lite.embedded.EmbeddedCluster;
import dev.lite.test.LiteTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.stereotype.Service;

// BLOCK

@Service
class Counters {
    private final LmrHandle counters;

    Counters(@LiteRegion(value = "shop/counters", size = "1MB", defaultPermissions = Permission.READ) LmrHandle counters) {
        this.counters = counters;
    }

    long sold(int article) {
        return counters.fetchAdd(article * 8L, 1) + 1;
    }
}

@SpringBootApplication
class Shop {}

public class Context {
    public static void run(EmbeddedCluster unused) {
        Examples.runTest(CountersTests.class);
    }
}
