package dev.lite.manager.web;

import jakarta.servlet.http.HttpServletRequest;

/**
 * Who sends a request.
 *
 * @param name the name of its token; {@code local} if the manager has no tokens
 * @param role what it may do
 */
record Client(String name, Role role) {
    /** The client of a manager without tokens. */
    static final Client LOCAL = new Client("local", Role.OPERATOR);

    private static final String ATTRIBUTE = Client.class.getName();

    /** Remembers who sends the request. */
    void sends(HttpServletRequest request) {
        request.setAttribute(ATTRIBUTE, this);
    }

    /**
     * Refuses a request of a client that may only see the state.
     *
     * @throws org.springframework.web.ErrorResponseException 403
     */
    static void requireOperator(HttpServletRequest request) {
        if (request.getAttribute(ATTRIBUTE) instanceof Client client && client.role() != Role.OPERATOR) {
            throw Refusals.readsOnly(client);
        }
    }
}
