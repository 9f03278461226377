package dev.lite.node;

import java.io.IOException;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/**
 * {@code POST /actuator/litedrain}: drains the node, which is about to be stopped, and answers when that has ended. Only for this
 * host, and only with the management token: an application of this host has no token, and Prometheus, which has it, is elsewhere.
 */
@Component
@WebEndpoint(id = "litedrain")
class DrainEndpoint {
    private final Departure departure;
    private final ManagementAccess access;

    DrainEndpoint(Departure departure, ManagementAccess access) {
        this.departure = departure;
        this.access = access;
    }

    @WriteOperation
    WebEndpointResponse<Departure.Outcome> drain() throws IOException {
        if (!isAllowed()) {
            return answer(
                    HttpStatus.FORBIDDEN,
                    "only this host may drain the node, with the token of lite.node.management.token");
        }
        if (!departure.isEnabled()) {
            return answer(HttpStatus.CONFLICT, "lite.node.drain-timeout is 0: this node does not drain");
        }
        Departure.Outcome outcome = departure.drain();
        return new WebEndpointResponse<>(outcome, (outcome.empty() ? HttpStatus.OK : HttpStatus.CONFLICT).value());
    }

    private static WebEndpointResponse<Departure.Outcome> answer(HttpStatus status, String detail) {
        return new WebEndpointResponse<>(new Departure.Outcome(false, detail), status.value());
    }

    /** Here, rather than by path in the filter: an operator may map the endpoint to another path. */
    private boolean isAllowed() throws IOException {
        return RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes attributes
                && access.mayDrain(attributes.getRequest());
    }
}
