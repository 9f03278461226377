package dev.lite.boot.region;

import dev.lite.api.LmrHandle;
import dev.lite.api.LtMemory;
import dev.lite.boot.LiteClientAutoConfiguration;
import org.springframework.beans.factory.InjectionPoint;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Scope;
import org.springframework.core.env.Environment;

/** Injection of handles by {@link LiteRegion}. */
@AutoConfiguration(after = LiteClientAutoConfiguration.class)
@ConditionalOnSingleCandidate(LtMemory.class)
public final class LiteRegionAutoConfiguration {

    static final String BEAN = "liteRegion";

    @Bean(destroyMethod = "close")
    LiteRegions liteRegions(LtMemory memory, Environment environment) {
        return new LiteRegions(memory, environment);
    }

    /** Only for injection points with the annotation, whose qualifier names this bean. */
    @Bean(name = BEAN, defaultCandidate = false)
    @Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
    LmrHandle liteRegion(LiteRegions regions, InjectionPoint point) {
        return regions.at(point);
    }
}
