package dev.lite.log.boot;

import dev.lite.api.Lite;
import dev.lite.log.LiteLogs;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** Provides {@link LiteLogs} to applications with a session. The logs that it opens are closed before the session. */
@AutoConfiguration(
        afterName = {"dev.lite.boot.LiteClientAutoConfiguration", "dev.lite.embedded.LiteEmbeddedAutoConfiguration"})
@ConditionalOnSingleCandidate(Lite.class)
public final class LiteLogAutoConfiguration {

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    LiteLogs liteLogs(Lite lite) {
        return new LiteLogs(lite);
    }
}
