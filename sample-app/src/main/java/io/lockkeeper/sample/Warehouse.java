/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.IncorrectResultSizeDataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** The stock and the orders in the database that all instances share. */
@Repository
public class Warehouse {

    private final JdbcClient jdbc;

    Warehouse(JdbcClient jdbc, ShopProperties shop) {
        this.jdbc = jdbc;
        openSale(shop.product(), shop.stock());
    }

    /** Reads the stock, and looks at the orders as a shop would: for a limit per customer, say. */
    int remaining(String product) {
        int remaining = jdbc.sql("select remaining from stock where product = ?")
                .param(product)
                .query(Integer.class)
                .optional()
                .orElseThrow(() -> new UnknownProductException(product));
        jdbc.sql("select max(id) from orders where product = ?")
                .param(product)
                .query()
                .singleRow();
        return remaining;
    }

    long insertOrder(String product, String instance) {
        KeyHolder order = new GeneratedKeyHolder();
        jdbc.sql("insert into orders (product, instance) values (?, ?)")
                .params(product, instance)
                .update(order, "id");
        Number id = order.getKey();
        if (id == null) {
            throw new IncorrectResultSizeDataAccessException("No key for the order of " + product, 1);
        }
        return id.longValue();
    }

    void write(String product, int remaining) {
        jdbc.sql("update stock set remaining = ? where product = ?")
                .params(remaining, product)
                .update();
    }

    /** Writes the stock unless a holder with a greater token has written it before. */
    boolean writeFenced(String product, int remaining, long token) {
        return jdbc.sql("update stock set remaining = :remaining, fence = :token"
                                + " where product = :product and fence <= :token")
                        .param("remaining", remaining)
                        .param("token", token)
                        .param("product", product)
                        .update()
                == 1;
    }

    /** Starts the sale again. The fence stays, for tokens never start again either. */
    @Transactional
    void reset(String product, int units) {
        if (jdbc.sql("update stock set units = ?, remaining = ? where product = ?")
                        .params(units, units, product)
                        .update()
                == 0) {
            throw new UnknownProductException(product);
        }
        jdbc.sql("delete from orders where product = ?").param(product).update();
    }

    /**
     * Tells how the sale stands.
     *
     * @param product what is on sale
     * @return the report
     * @throws UnknownProductException if it is not on sale
     */
    public StockReport report(String product) {
        // One statement: of two, the second would see orders that the first has not seen
        return jdbc.sql("select s.units, s.remaining, o.instance, count(o.id) from stock s"
                        + " left join orders o on o.product = s.product where s.product = ?"
                        + " group by s.units, s.remaining, o.instance")
                .param(product)
                .query(rows -> rows.next() ? report(product, rows) : unknown(product));
    }

    /**
     * Tells who took the last orders.
     *
     * @param product what is on sale
     * @param limit the largest number of orders to look at
     * @return the names of the instances, the newest order first
     */
    public List<String> lastSellers(String product, int limit) {
        return jdbc.sql("select instance from orders where product = ? order by id desc limit ?")
                .params(product, limit)
                .query(String.class)
                .list();
    }

    private static StockReport report(String product, ResultSet rows) throws SQLException {
        int units = rows.getInt(1);
        int remaining = rows.getInt(2);
        Map<String, Integer> perInstance = new TreeMap<>();
        do {
            String instance = rows.getString(3);
            if (instance != null) {
                perInstance.put(instance, rows.getInt(4));
            }
        } while (rows.next());
        int sold = perInstance.values().stream().mapToInt(Integer::intValue).sum();
        return new StockReport(product, units, remaining, sold, perInstance);
    }

    private static StockReport unknown(String product) {
        throw new UnknownProductException(product);
    }

    private void openSale(String product, int units) {
        try {
            jdbc.sql("insert into stock (product, units, remaining) values (?, ?, ?)")
                    .params(product, units, units)
                    .update();
        } catch (DuplicateKeyException openedBefore) {
            // By another instance, or at an earlier start on the same data
        }
    }
}
