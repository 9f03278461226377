package dev.lite.demo;

import java.nio.file.Path;
import java.util.Properties;

/**
 * The settings of the samples.
 *
 * @param managerJar the manager's executable jar
 * @param nodeJar the node's executable jar
 * @param sampleJars the executable jar of each sample, with {@value #PLACEHOLDER} for its name
 */
record SampleSettings(Path managerJar, Path nodeJar, String sampleJars) {

    private static final String PLACEHOLDER = "{sample}";

    /** Reads the settings from {@code lite.demo.*} and {@code lite.sample.*}. */
    static SampleSettings of(Properties properties) {
        return new SampleSettings(
                Path.of(required(properties, "lite.demo.manager-jar")).normalize(),
                Path.of(required(properties, "lite.demo.node-jar")).normalize(),
                required(properties, "lite.sample.jars"));
    }

    private static String required(Properties properties, String key) {
        String value = properties.getProperty(key, "");
        if (value.isBlank()) {
            throw new DemoFailedException(
                    "%s is not set; start a sample with: mvn -Psample -Dlite.sample=NAME".formatted(key));
        }
        return value;
    }

    Path jar(Sample sample) {
        return Path.of(sampleJars.replace(PLACEHOLDER, sample.name())).normalize();
    }
}
