package dev.lite.mr.boot;

import dev.lite.api.Lite;
import dev.lite.mr.JobRunner;
import dev.lite.mr.MrWorker;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Provides {@link JobRunner} to applications with a session, and a {@link MrWorker} if {@code lite.mr.worker.enabled} is true. Both are
 * closed before the session.
 */
@AutoConfiguration(
        afterName = {"dev.lite.boot.LiteClientAutoConfiguration", "dev.lite.embedded.LiteEmbeddedAutoConfiguration"})
@ConditionalOnSingleCandidate(Lite.class)
@EnableConfigurationProperties(LiteMrProperties.class)
public final class LiteMrAutoConfiguration {

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    JobRunner liteMrJobRunner(Lite lite, LiteMrProperties properties) {
        return new JobRunner(lite, properties.group(), properties.workerTimeout(), properties.groupTimeout());
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    @ConditionalOnBooleanProperty("lite.mr.worker.enabled")
    MrWorker liteMrWorker(Lite lite, LiteMrProperties properties) {
        return MrWorker.start(lite, properties.options());
    }
}
