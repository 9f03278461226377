package dev.lite.manager;

import dev.lite.process.FailedStart;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** {@link FailedStart} of the manager. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class FailedManagerStart extends FailedStart {
    FailedManagerStart() {
        super(new StartFailureAnalyzer());
    }
}
