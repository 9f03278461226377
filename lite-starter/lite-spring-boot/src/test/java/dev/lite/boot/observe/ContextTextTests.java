package dev.lite.boot.observe;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LtRpc;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContextTextTests {
    @Test
    void entriesArriveAsTheyWereSent() {
        Map<String, String> entries = Map.of("traceparent", "00-1-2-01", "baggage", "a=b,c=d", "é", "ü");
        assertThat(ContextText.decode(ContextText.encode(entries))).isEqualTo(entries);
        assertThat(ContextText.encode(Map.of())).isNull();
    }

    @Test
    void theParentOfTheTraceIsSentBeforeWhatDoesNotFit() {
        String text = ContextText.encode(Map.of("traceparent", "p", "baggage", "x".repeat(LtRpc.CONTEXT_BYTES_MAX)));
        assertThat(ContextText.decode(text)).isEqualTo(Map.of("traceparent", "p"));
    }

    @Test
    void entriesWithALineBreakAreNotSent() {
        for (String end : List.of("\n", "\r", "\r\n")) {
            String text = ContextText.encode(Map.of("traceparent", "p", "a", "1" + end + "b=2", "c" + end + "d", "3"));
            assertThat(ContextText.decode(text)).isEqualTo(Map.of("traceparent", "p"));
        }
    }

    @Test
    void anythingThatOthersSendCanBeDecoded() {
        assertThat(ContextText.decode(null)).isEmpty();
        assertThat(ContextText.decode("=x\n\n\0\nno line\n==\nk=")).isEqualTo(Map.of("k", ""));
        assertThat(ContextText.encode(Map.of("traceparent", "é".repeat(LtRpc.CONTEXT_BYTES_MAX))))
                .isNull();
    }
}
