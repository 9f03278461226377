package dev.lite.node;

import dev.lite.process.FailedStart;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** {@link FailedStart} of the node. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class FailedNodeStart extends FailedStart {
    FailedNodeStart() {
        super(new StartFailureAnalyzer());
    }
}
