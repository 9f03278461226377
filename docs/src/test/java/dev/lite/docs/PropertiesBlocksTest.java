package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.YamlPropertiesFactoryBean;
import org.springframework.core.io.ByteArrayResource;

class PropertiesBlocksTest {
    /** Properties of others, whose metadata is not in this build. */
    private static final List<String> OTHERS =
            List.of("server.", "spring.", "management.", "logging.", "resilience4j.");

    @Test
    void everyPropertyOfABlockIsInTheMetadata() throws Exception {
        for (CodeBlock block : Repository.blocks("properties")) {
            Properties properties = new Properties();
            properties.load(new StringReader(block.text()));
            check(block, properties);
        }
        for (CodeBlock block : Repository.blocks("yaml")) {
            YamlPropertiesFactoryBean yaml = new YamlPropertiesFactoryBean();
            yaml.setResources(new ByteArrayResource(block.text().getBytes(StandardCharsets.UTF_8)));
            Properties properties = yaml.getObject();
            assertThat(properties).as(block.where()).isNotNull();
            check(block, properties);
        }
    }

    private static void check(CodeBlock block, Properties properties) {
        assertThat(properties).as(block.where()).isNotEmpty();
        for (String name : new ArrayList<>(properties.stringPropertyNames())) {
            assertThat(isKnown(name))
                    .as("%s: %s is a property", block.where(), name)
                    .isTrue();
        }
    }

    /** Whether there is such a property, or another project has it. */
    static boolean isKnown(String name) {
        return Metadata.isKnown(name) || OTHERS.stream().anyMatch(name::startsWith);
    }

    @Test
    void aNameThatIsInNoMetadataIsFound() {
        assertThat(isKnown("lite.node.arena.size")).isTrue();
        assertThat(isKnown("lite.node.principals[0].name")).isTrue();
        assertThat(isKnown("lite.node.arena.sise")).isFalse();
    }
}
