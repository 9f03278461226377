package dev.lite.samples.thumbnail;

import dev.lite.boot.client.LtRpcClient;
import org.springframework.resilience.annotation.Retryable;

/**
 * The thumbnailers, as the gallery sees them: a call goes to any node that has one. A call that reached none was not executed, so it is
 * repeated; services start in any order.
 */
@LtRpcClient(prefix = "thumbnails/", deadline = "20s")
@Retryable(predicate = NotServed.class, delay = 100, maxRetries = 300)
interface Thumbnails {

    /** Makes the thumbnail of a photo. */
    Thumbnail make(Photo photo);
}
