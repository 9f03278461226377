package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class SampleTest {

    @Test
    void aSampleIsFoundByItsName() {
        assertThat(Sample.of("order-counter")).isEqualTo(Sample.ORDER_COUNTER);
    }

    @Test
    void anUnknownNameIsReportedWithTheKnownOnes() {
        assertThatThrownBy(() -> Sample.of("prices"))
                .isInstanceOf(DemoFailedException.class)
                .hasMessage("lite.sample is \"prices\"; it must be one of [price-board, order-counter, thumbnail-rpc]");
    }

    @Test
    void theJarOfASampleHasItsNameInThePath() {
        Properties properties = new Properties();
        properties.setProperty("lite.demo.manager-jar", "manager.jar");
        properties.setProperty("lite.demo.node-jar", "node.jar");
        properties.setProperty("lite.sample.jars", "/jars/{sample}/lite-sample-{sample}.jar");
        assertThat(SampleSettings.of(properties).jar(Sample.PRICE_BOARD))
                .isEqualTo(Path.of("/jars/price-board/lite-sample-price-board.jar"));
    }

    @Test
    void aMissingSettingIsReportedWithTheCommand() {
        assertThatThrownBy(() -> SampleSettings.of(new Properties()))
                .hasMessage("lite.demo.manager-jar is not set; start a sample with: mvn -Psample -Dlite.sample=NAME");
    }
}
